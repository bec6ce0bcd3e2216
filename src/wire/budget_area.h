/* SPDX-License-Identifier: MIT
 *
 * Functions that a budget has switched off (agent/calls/budget.c), in the sparse area: granules of kind TRACE_GRANULE_BUDGET, full of
 * struct budget_entry. From `off_at` on calls of such a function are timed only in windows, short spans of time at random
 * in which everything is watched; what was seen in them is summed up here. Outside of them it is merely counted, or not even that. Times are CPU time of the process, ns, so that
 * what other programs do to this one does not matter; `self` is in the session's clock. An entry is written whenever a window ends,
 * by the thread whose event ends it. In the head of the first of these granules `start` is the CPU time at which the process is known
 * to have run: it may end without a word (os._exit, a signal), so every event tells, half a millisecond apart at least. What the session's clock was then is in `paces`.
 *
 * A function may have several entries, one for each of its code objects that were off: they add up. */
#ifndef WIRE_BUDGET_AREA_H
#define WIRE_BUDGET_AREA_H

#include <stdint.h>

#include "wire/trace.h"

struct budget_entry {
	uint32_t function; /* its number (wire/trace.h) */
	uint32_t is_over;  /* its code object has died: it was off until `last`, and no longer */
	uint64_t off_at, last; /* last: the end of the last window */
	uint64_t n_windows;    /* since then, those without a call included */
	uint64_t span;         /* of all windows together */
	uint64_t cost;         /* of what was watched in them, as calibrated */
	uint64_t outside_cost; /* of what was watched since off_at outside of windows */
	uint64_t calls;        /* seen in windows */
	uint64_t resumes;      /* likewise */
	uint64_t self;         /* own time in them */
	/* Sums of squares and products over windows; net is a window's span less its cost. */
	double calls_squared, calls_net, net_squared;
	double off_rate;   /* calls per ns when it was switched off */
	double first_rate; /* … and in the first window after that, … */
	uint64_t gap;      /* … until when it was blind for so long */
	/* Outside of windows a function that is off may be counted still, without a clock; else it is blind. */
	uint64_t counted, counted_resumes;
	uint64_t blind;       /* for so long in all, … */
	uint64_t blind_since; /* … and since then; 0: it is counted, or a window is open */
	/* own time in windows of all that is on, in the session's clock, as is … */
	uint64_t others_self;
	uint64_t off_clock; /* … what it was at off_at; of one that is over: how long it was off */
};

enum {
	BUDGET_ENTRIES =
		(TRACE_GRANULE_BYTES - sizeof(struct trace_granule)) / sizeof(struct budget_entry)
};

_Static_assert(sizeof(struct budget_entry) == 176, "entry");

#endif
