/* SPDX-License-Identifier: MIT
 *
 * Functions that a budget has switched off (agent/budget.c), in the sparse area: granules of kind TRACE_GRANULE_BUDGET, full of
 * struct budget_entry. From `off_at` on calls of such a function are seen only in windows, short spans of time at random
 * in which everything is watched; what was seen in them is summed up here. Times are CPU time of the process, ns, so that
 * what other programs do to this one does not matter; `self` is in the session's clock. An entry is written whenever a window ends,
 * by the thread whose event ends it. */
#ifndef WIRE_BUDGET_AREA_H
#define WIRE_BUDGET_AREA_H

#include <stdint.h>

#include "wire/trace.h"

struct budget_entry {
	uint32_t function; /* its number (wire/trace.h) */
	uint32_t reserved;
	uint64_t off_at, last; /* last: when it was last looked at whether it is off still */
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
	double first_rate; /* … and in the first window after that, which came … */
	uint64_t gap;      /* … so much later */
};

enum {
	BUDGET_ENTRIES =
		(TRACE_GRANULE_BYTES - sizeof(struct trace_granule)) / sizeof(struct budget_entry)
};

_Static_assert(sizeof(struct budget_entry) == 128, "entry");

#endif
