/* SPDX-License-Identifier: MIT
 *
 * Nodes: the calling contexts that exact tracing counted, as one array in which parents come before their
 * children. What the tracing itself cost is worked out for each: meta "trace_cost_ns" holds what one call
 * adds to the time between its own two stamps (inside) and to its caller's (outside), as calibrated in the
 * traced interpreter: of Python functions inside and outside, of C functions inside and outside, and
 * of resumptions.
 *
 * Meta "trace_cost_error" tells by how much that may be off, "trace_code_slower" how much longer code takes that calls
 * nothing: only the work of the interpreter itself does, and nobody knows how much of a function that is, so it is not taken off.
 *
 *	self without the cost = self − n · inside − Σ children (n · outside), never below 0
 *
 * Agents sum that up themselves, event by event, at the pace the CPU had at each; where nodes have such sums, those count.
 *
 * One kind of event has one calibrated cost, and real ones differ: by what is called, by what the interpreter would have
 * specialised, by the pace, and code between events may be slower. So beside the likely cost stand the least and the most
 * it can have been; docs/decisions/0048 tells where the spreads come from.
 *
 * Contexts whose parents are not in the recording hang below the root; those that are their own ancestors
 * (a hostile file) are left out. */
#ifndef ANALYZE_CALLS_NODES_H
#define ANALYZE_CALLS_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct frames;
struct tables;

#define NODES_ERROR_MOST 0.25 /* a calibration that may be off by more is not used */

enum { NODE_BUCKETS = 64 }; /* of the histogram: log2 of nanoseconds */

struct node_times {
	double self_s, total_s;
};

struct node {
	uint32_t parent;   /* index + 1, 0: a root of its thread */
	uint32_t function; /* number (frames.h) */
	uint32_t thread;   /* row */
	uint32_t code;     /* row; 0: a C function */
	bool is_thread; /* no function: the thread itself, whose self time is what was outside of all */
	uint64_t calls, resumes;
	uint64_t recursive_calls; /* of the calls, by the node itself: folded recursion */
	struct node_times raw;    /* as stamped */
	/* part of raw that tracing added, most likely; 0 where that is not known well enough */
	struct node_times cost;
	struct node_times cost_least, cost_most; /* and at least and at most; where calibrated */
	double awaited_s, min_s, max_s;
	const unsigned char *histogram; /* varints, in the arena */
	uint32_t n_histogram;           /* bytes */
};

struct nodes {
	const struct node *v;
	size_t n;
	bool is_calibrated; /* else costs are 0 because nobody knows them */
	bool has_budget;    /* calls were watched for some of the time only */
	double cost_error; /* a cost may be off by so much, as a part of it; costs are 0 above the most */
	double code_slower; /* Python code without calls took so many times as long as untraced; 1: not known */
	uint64_t n_events; /* calls and resumptions */
	bool is_window;    /* what lies in one, by the timeline */
	bool is_of_all;    /* threads and times, so that n_events is what the recording holds */
	double cost_s;     /* of all of them */
	double event_s; /* of it, by the calibrated cost of each; the rest are looks at the CPU's pace, as measured */
	double least_s, most_s; /* of what all functions took, threads apart: added by tracing */
};

struct nodes_options {
	const uint32_t *threads; /* rows of those that count; NULL: all */
	size_t n_threads;
	/* CLOCK_MONOTONIC, where there is a timeline (nodes_window.h); 0: all */
	uint64_t from_ns, to_ns;
	bool only_mine; /* library code becomes part of the user's own that called it; its calls are left out */
};

/* o: NULL for all. Never NULL; n = 0 without such records. */
const struct nodes *nodes_build(
	struct arena *a, struct tables *t, struct frames *f, const struct nodes_options *o);

/* Whether what tracing cost is known within bounds, and everything was watched: then times of contexts have intervals. */
static inline bool nodes_have_intervals(const struct nodes *n)
{
	return n->n && n->is_calibrated && !n->has_budget;
}

/* Adds the counts of a node's histogram. */
void node_add_histogram(const struct node *n, uint64_t to[NODE_BUCKETS]);

#endif
