/* SPDX-License-Identifier: MIT
 *
 * Why B takes longer or shorter than A: each runs once more under the sampler, apart from the runs that were timed, and the
 * measured difference is shared out among the functions.
 *
 * A function's share of a side is its own time in the recording over that run's: so what slowed a recorded run as a whole does
 * not count, and the points of all functions add up to the measured difference. Both sides are recorded for as many loops, or
 * runs of a short command one after the other; a statement's run is the loop, not the interpreter around it. */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/subject.h"
#include "view/bench/verdict.h"

struct arena;
struct err;

struct explain_options {
	const struct subject *sides[2]; /* borrowed: A and B */
	double loop_s; /* what a loop of a statement, or a run of a command, takes on the slower side */
	double ratio; /* B's time / A's, as measured */
	/* the recordings are kept as KEEP.a.lead and KEEP.b.lead; NULL: not kept */
	const char *keep;
};

/* The functions that stand out, the largest first; none where nothing does. In the arena. */
int explain(struct arena *a, const struct explain_options *o, struct verdict_cause **ret,
	size_t *ret_n, struct err *e);

#endif
