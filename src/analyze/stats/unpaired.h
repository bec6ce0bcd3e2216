/* SPDX-License-Identifier: MIT
 *
 * Is B faster than A, where both were measured before, one after the other: stored results, or the steps of two long runs. Weaker than
 * verdict.h (what the machine did meanwhile is in the difference, and there is no control), but often all there is.
 *
 * Results: one time per process; the shift of their logarithms by Hodges and Lehmann with Mann and Whitney's interval. Where a side is
 * one process, its values stand in groups of neighbours, and what differs between processes is not in the interval.
 *
 * Steps: neighbours depend on each other, so an interval that takes them for independent is too narrow. Whole blocks of neighbours are
 * drawn again and again (circular block bootstrap), as long as the steps depend on each other. */
#ifndef ANALYZE_STATS_UNPAIRED_H
#define ANALYZE_STATS_UNPAIRED_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/interval.h"
#include "analyze/stats/verdict.h"

struct arena;
struct series;

struct unpaired {
	enum verdict_word word;
	enum verdict_gate gate;
	bool is_unlike;  /* A and B were measured under other conditions, so it is undecided */
	double a_s, b_s; /* medians */
	double ratio;    /* B's time / A's */
	struct interval interval; /* 95 % */
	size_t n_a, n_b;          /* processes, groups of values, or steps */
	bool is_of_processes;     /* both sides have several */
	size_t block;             /* steps that were drawn together; 0: none were */
};

/* is_unlike: the caller has found differences and does not want a verdict in spite of them. */
struct unpaired unpaired_series(struct arena *a, const struct series *of_a,
	const struct series *of_b, const struct verdict_options *o, bool is_unlike);
/* Durations in the order of time, above 0; both have at least UNPAIRED_STEPS. */
enum { UNPAIRED_STEPS = 20 };
struct unpaired unpaired_steps(const double *a, size_t n_a, const double *b, size_t n_b,
	const struct verdict_options *o, bool is_unlike);

const char *unpaired_why_undecided(const struct unpaired *u);

/* Two files of results, benchmark by benchmark. */
struct results_comparison_row {
	const char *name;
	struct unpaired u;
};

struct results_difference {
	const char *what, *a, *b; /* "CPU", "x", "y" */
};

struct results_comparison {
	const char *a, *b;               /* files */
	const char *damage_a, *damage_b; /* what is missing of them, "" nothing */
	const struct results_comparison_row *rows;
	size_t n;
	const struct results_difference *differences;
	size_t n_differences;
	size_t n_only_a, n_only_b; /* benchmarks that the other side does not have */
};

#endif
