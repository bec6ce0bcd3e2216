/* SPDX-License-Identifier: MIT
 *
 * Neighbours: who calls a function, and what it calls, each with the part of the function's time that
 * belongs to it. The caller of a stack is the one that entered the function first there (recursion counts
 * once per stack); the callee is what its last frame called, or itself while its own code ran. So callers
 * add up to the function's total, and so do callees. */
#ifndef ANALYZE_SAMPLES_NEIGHBOURS_H
#define ANALYZE_SAMPLES_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/interval.h"

struct arena;
struct stacks;

struct neighbour {
	uint32_t function; /* number (frames.h) */
	bool is_none;      /* callers: it was the root; callees: its own code */
	uint64_t n;        /* samples; exact: calls and resumptions, none for its own code */
	double value;      /* in the stacks' unit */
	/* Where that is corrected (exact.h); else unknown: */
	struct interval interval;
	double raw; /* as stamped */
};

struct neighbours {
	uint32_t function; /* whose */
	bool is_exact; /* counted call by call (exact.h): times of recursive calls lie in one another */
	uint64_t total_n;
	double total;
	const struct neighbour *callers, *callees; /* by time, falling */
	size_t n_callers, n_callees;
};

/* By time, falling. */
void neighbours_sort(struct neighbour *v, size_t n);

const struct neighbours *neighbours_build(
	struct arena *a, const struct stacks *s, double lost_share, uint32_t function);

#endif
