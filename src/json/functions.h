/* SPDX-License-Identifier: MIT
 *
 * Functions with what was measured of them, as JSON: rows, the call tree, callers and callees. */
#ifndef JSON_FUNCTIONS_H
#define JSON_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calltree_node;
struct exact;
struct frames;
struct json_writer;
struct neighbours;
struct profile;
struct profile_cost;
struct stacks;

/* Whose code it is: 0 the user's own, 1 library, 2 C, 3 synthetic. */
unsigned function_kind(const struct frames *f, uint32_t function);

/* Of a row of samples: value, interval and number of samples. */
void cost_json(const struct profile *p, const struct profile_cost *c, struct json_writer *w);

struct json_rows {
	size_t first, n; /* at most n of them, from `first` on */
	bool details; /* counted ones: raw times, quantiles of a call, estimates; large tables of the page go without */
};

/* exact: where calls were counted, else NULL. */
void functions_json_rows(const struct profile *p, const struct exact *exact, const struct frames *f,
	const struct json_rows *rows, struct json_writer *w);
/* "trace": the sums of what was counted. */
void trace_json(const struct exact *x, struct json_writer *w);

/* "tree" */
void tree_json(const struct calltree_node *root, const struct stacks *s, struct json_writer *w);
/* The callers of one function, or its callees: at most n rows. */
void neighbours_json_rows(const struct neighbours *of, bool is_callers, size_t n,
	const struct frames *f, struct json_writer *w);
/* "callers" or "callees", as key says: the same for several functions, with their names. */
void neighbours_json(const char *key, const struct neighbours *const *v, size_t n, bool is_callers,
	const struct frames *f, struct json_writer *w);

#endif
