/* SPDX-License-Identifier: MIT
 *
 * Patterns that choose functions and lines: POSIX extended regular expressions, searched for in
 * "qualname (file:line)". */
#ifndef ANALYZE_CODE_PATTERN_H
#define ANALYZE_CODE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct pattern;
struct profile;

/* ERR_USAGE with the reason when it is no regular expression. */
int pattern_new(struct pattern **ret, const char *text, struct err *e);
void pattern_free(struct pattern *p); /* accepts NULL */

bool pattern_matches(const struct pattern *p, const char *name, const char *file, int64_t line);

/* The profile's rows that match, in their order; shares stay those of the whole. */
const struct profile *pattern_rows(
	struct arena *a, const struct profile *p, const struct pattern *pattern);

/* Functions that `text` names: by qualified name, else by the last word of it, else as a pattern. *ret
 * holds indices into p->functions, by total time falling. ERR_USAGE when it matches nothing. */
int pattern_functions(struct arena *a, const struct profile *p, const char *text, size_t **ret,
	size_t *ret_n, struct err *e);

#endif
