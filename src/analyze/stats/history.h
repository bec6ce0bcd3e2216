/* SPDX-License-Identifier: MIT
 *
 * Times of one benchmark over commits: at which of them it became slower or faster. How far apart two runs of the same commit lie (A against
 * A) is learned from those commits that were run more than once; a step is a change that this noise makes in fewer than one history of twenty,
 * all places where it could be taken into account. Without such repetitions nothing is called a step. */
#ifndef ANALYZE_STATS_HISTORY_H
#define ANALYZE_STATS_HISTORY_H

#include <stddef.h>

#include "analyze/stats/interval.h"

struct arena;

struct history_run {
	/* "" not known: a point of its own, as is one with local changes ("+" at its end) */
	const char *commit;
	double begun_s; /* since 1970 */
	double seconds; /* above 0 */
};

struct history_point { /* all runs of one commit */
	const char *commit;
	double begun_s; /* of the first */
	double seconds; /* geometric mean */
	size_t n;       /* runs */
};

struct history_step {
	size_t at;                /* index of the first point behind it */
	double ratio;             /* times behind it / times before */
	struct interval interval; /* 95 % */
};

struct history {
	struct history_point *points; /* by the time of their first run */
	size_t n;
	size_t n_repeats; /* runs of a commit beyond its first */
	double noise;     /* standard deviation of the logarithm of a run; NAN: no repeats */
	struct history_step *steps; /* by place */
	size_t n_steps;
};

/* Runs in any order; everything lives in the arena. */
const struct history *history_build(struct arena *a, const struct history_run *runs, size_t n);

#endif
