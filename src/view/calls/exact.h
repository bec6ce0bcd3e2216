/* SPDX-License-Identifier: MIT
 *
 * Pages of exactly counted calls and lines: the tables cProfile's and line_profiler's users know, with what those
 * cannot tell beside it. Rows and their order are the profile's (exact_profile, filtered or sorted). */
#ifndef VIEW_CALLS_EXACT_H
#define VIEW_CALLS_EXACT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct exact;
struct exact_lines;
struct profile;
struct profile_view;
struct source_texts;

/* "N function calls (M primitive calls) in S seconds" and ncalls, tottime, percall, cumtime, percall,
 * filename:lineno(function); resumptions and suspended time where there are any. is_raw: times as they were
 * stamped, the cost of tracing included. */
void exact_print_functions(const struct exact *x, const struct profile *p, const char *order,
	bool is_raw, const struct profile_view *v, struct buf *out);
/* What was traced, what that cost, and what the numbers are good for. */
void exact_print_fidelity(const struct exact *x, const struct profile_view *v, struct buf *out);
/* Patterns of what was not traced; nothing where there are none. */
void exact_print_excluded(const char *patterns, const struct profile_view *v, struct buf *out);
/* Each function's source with hits, time, own time, time in callees, per hit, longest, share. texts may be
 * NULL. */
void exact_print_lines(const struct exact_lines *l, const struct source_texts *t,
	const struct profile_view *v, struct buf *out);
/* The same as line_profiler prints it, to the column; times in units of unit_s (1e-6: its default). */
void exact_print_line_profiler(
	const struct exact_lines *l, const struct source_texts *t, double unit_s, struct buf *out);

#endif
