/* SPDX-License-Identifier: MIT
 *
 * Parameters of a request: "a=1&b=x%20y" taken apart. Hostile input: lengths and numbers are bounded, what is no
 * text (NUL, bad escapes) is refused. */
#ifndef SERVE_HTTP_PARAMS_H
#define SERVE_HTTP_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct err;

enum { PARAMS_MOST = 64, PARAMS_BYTES = 16384 };

struct param {
	const char *name, *value;
};

struct params {
	struct arena arena;
	struct param v[PARAMS_MOST]; /* in their order */
	size_t n;
};

/* query: what stands behind the "?", NULL or "" when there is nothing. ERR_USAGE with the reason. params_done
 * also after a failure. */
int params_parse(struct params *p, const char *query, struct err *e);
void params_done(struct params *p);
/* For requests made by ourselves; both are copied. */
void params_add(struct params *p, const char *name, const char *value);

/* The first of that name, NULL when there is none. */
const char *params_find(const struct params *p, const char *name);
bool params_is_set(const struct params *p, const char *name); /* its value is "1" */
/* All of that name, in the arena; returns their number. */
size_t params_all(struct params *p, const char *name, const char *const **ret);
/* Numbers: *ret keeps its value when the parameter is not there; ERR_USAGE when it is none, or not from low to
 * high. */
int params_number(const struct params *p, const char *name, double low, double high, double *ret,
	struct err *e);
int params_u32(
	const struct params *p, const char *name, uint32_t high, uint32_t *ret, struct err *e);

#endif
