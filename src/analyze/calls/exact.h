/* SPDX-License-Identifier: MIT
 *
 * Exact: functions and who called whom how often, as counted call by call: from calling contexts (nodes.h),
 * or from the totals another tool's file has (rec_call_total).
 *
 *	const struct exact *x = exact_build(&a, tables, frames, nodes_build(&a, tables, frames, NULL));
 *
 * Calls are entries; that a generator or coroutine goes on is a resumption, counted apart. Recursion is
 * counted as pstats does: a call is primitive when its function was not active yet, and the total time
 * of a function (or of a caller's calls of it) is that of its outermost activations. One that ran already when tracing began has no call
 * that was counted: what it calls of itself is primitive.
 *
 * Counts are exact when the books balance: meta "trace_counted" holds what the agents counted in all processes, and all contexts
 * together must come to that (n_missing).
 *
 * Times are corrected by what tracing cost where that was calibrated; `raw` are the times as stamped. A corrected time has an
 * interval, low ≤ corrected ≤ high ≤ raw, which holds the time that the program takes untraced in nine of ten cases; where it is wide
 * (exact_is_bound) its ends are all that is known, and the time as stamped is to be told before them. */
#ifndef ANALYZE_CALLS_EXACT_H
#define ANALYZE_CALLS_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/calls/nodes.h"
#include "analyze/stats/interval.h"
#include "base/units.h"

struct arena;
struct frames;
struct tables;

#define EXACT_WIDE \
	0.15 /* half an interval, as a part of its middle, from which on its ends are bounds */

struct exact_cost {
	uint64_t calls, primitive_calls;
	uint64_t resumes, primitive_resumes;
	double self, total; /* corrected; in the unit of struct exact */
	struct node_times raw;
	struct node_times low, high; /* the interval of what is corrected; else unknown */
};

/* Of a function that a budget had switched off for some time: it did what was seen and what is estimated. */
struct exact_range {
	bool is_estimated; /* its times; else the figures are exact, and these mean nothing */
	bool are_calls_estimated;       /* … and its calls; else they were counted all the time */
	double calls_low, calls_high;   /* high may be unknown */
	double self_low_s, self_high_s; /* of a function that is_mixed, too */
};

struct exact_function {
	uint32_t function;       /* number (frames.h) */
	const char *name, *file; /* "" file for C functions */
	uint32_t first_line;
	bool is_builtin;
	struct exact_cost cost;
	struct exact_range range;
	bool is_mixed; /* its own time is what is left of a time shared with functions that are estimated */
	double awaited_s;    /* suspended */
	double min_s, max_s; /* of a call; unknown where only totals are */
	double p50_s, p99_s; /* from a histogram of powers of two; unknown as above */
};

struct exact_edge {
	uint32_t caller, callee; /* indices in functions */
	/* self is not known from files that tell inclusive costs of calls only */
	struct exact_cost cost;
};

struct exact {
	const struct exact_function *functions; /* in order of appearance */
	size_t n_functions;
	const struct exact_edge *edges; /* by callee, then caller */
	size_t n_edges;
	uint64_t calls, primitive_calls, resumes; /* of all */
	double self, raw_self;                    /* of all */
	struct interval self_interval;            /* unknown where nothing is corrected */
	uint64_t n_events;                        /* that tracing had to handle */
	uint64_t n_left_out; /* of library code, where only the user's counts: no row has them */
	uint64_t n_missing;  /* that the agents counted and the recording does not hold */
	double cost_s;       /* of them */
	double event_s;      /* of one, as calibrated */
	bool is_calibrated, has_contexts;
	size_t n_estimated;       /* functions */
	size_t n_calls_estimated; /* … of which calls are, too, not only times */
	bool is_timed;            /* else calls were counted without a clock */
	/* of the costs: another tool may have counted something else than seconds (origin.h) */
	enum unit unit;
	const struct nodes *nodes;
};

/* NULL when the recording holds no exact calls. */
const struct exact *exact_build(
	struct arena *a, struct tables *t, struct frames *f, const struct nodes *nodes);

/* The same as a profile, by self time, for what works on both (patterns, orders, shares). */
const struct profile *exact_profile(struct arena *a, const struct exact *x);
/* Callers and callees of a function, by its number; times are those of the calls between the two. */
const struct neighbours *exact_neighbours(
	struct arena *a, const struct exact *x, uint32_t function);

/* Of a function's own time and of the time with what it calls; unknown where nothing is corrected or estimated. */
struct interval exact_self(const struct exact_function *f);
struct interval exact_total(const struct exact_function *f);
/* Whether a corrected time is known by its bounds only. Not where there is no interval. */
bool exact_is_bound(struct interval of);

/* The function's edges: those to its callers are neighbours in x->edges. */
size_t exact_callers(const struct exact *x, uint32_t callee, const struct exact_edge **ret);

#endif
