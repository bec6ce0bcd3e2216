/* SPDX-License-Identifier: MIT
 *
 * Call statistics in the terms of Python's pstats, for its users and its files: a function is (file, line,
 * name) with the bare name, entries and resumptions are calls alike, and every number is a total. Nothing is changed in
 * place: sums, shortened paths and orders are new values in the arena.
 *
 *	const struct callstats *s = callstats_build(&a, exact);
 *	struct callstats_order o = { 0 };
 *	callstats_sort(&a, s, "cumtime name", &o, &e);
 *	struct callstats_list l = callstats_all(&a, s, &o);
 *	callstats_restrict(&a, s, &l, "10");
 *	callstats_restrict(&a, s, &l, "json");
 */
#ifndef ANALYZE_CALLS_CALLSTATS_H
#define ANALYZE_CALLS_CALLSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct exact;

struct callstat_cost {
	uint64_t calls, primitive_calls;
	double self_s, total_s;
};

struct callstat_edge {
	uint32_t other; /* index: the caller, or the callee */
	struct callstat_cost cost;
};

struct callstat {
	const char *file, *name; /* "~", line 0 and "<built-in method …>" for C functions */
	uint32_t line;
	const char *label; /* "file:line(name)", or the C function in braces */
	bool is_listed;    /* false: it is known only as somebody's caller */
	struct callstat_cost cost;
	const struct callstat_edge *callers, *callees; /* by file, line and name of the other */
	size_t n_callers, n_callees;
};

struct callstats {
	const struct callstat *v;
	size_t n, n_listed;
	struct callstat_cost all; /* total_s is not used */
};

const struct callstats *callstats_build(struct arena *a, const struct exact *x);
/* Of both: rows with the same file, line and name become one. */
const struct callstats *callstats_sum(
	struct arena *a, const struct callstats *x, const struct callstats *y);
/* Without the folders of the files; rows that can no longer be told apart become one. */
const struct callstats *callstats_strip(struct arena *a, const struct callstats *x);

/* pstats' sort keys. */
struct callstats_key {
	const char *word, *meaning; /* "cumtime", "cumulative time" */
};

extern const struct callstats_key callstats_keys[];
extern const size_t n_callstats_keys;

struct callstats_order {
	const uint32_t *rows; /* NULL: as the file has them */
	size_t n;
	const char *words; /* "cumulative time, function name" */
};

/* Orders by keys separated by blanks or commas; beginnings of keys that are clear will do. ERR_USAGE for
 * what is none; *ret is then untouched. */
int callstats_sort(struct arena *a, const struct callstats *s, const char *keys,
	struct callstats_order *ret, struct err *e);
void callstats_reverse(struct arena *a, struct callstats_order *o);

struct callstats_list {
	const uint32_t *rows;
	size_t n;
	const char *notes; /* what was left out and why, a line each, as pstats words it */
};

struct callstats_list callstats_all(
	struct arena *a, const struct callstats *s, const struct callstats_order *o);
/* Keeps the first N ("10"), a part ("0.1") or what a regular expression is found in. */
void callstats_restrict(struct arena *a, const struct callstats *s, struct callstats_list *l,
	const char *selection);

#endif
