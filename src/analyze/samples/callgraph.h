/* SPDX-License-Identifier: MIT
 *
 * Call graph: functions, and who calls whom, each with its time; a stack counts once for a function and once
 * for a call, however often it recurs; calls that were traced have the times pstats gives them. What is below a threshold is left out, as gprof2dot's users know it. */
#ifndef ANALYZE_SAMPLES_CALLGRAPH_H
#define ANALYZE_SAMPLES_CALLGRAPH_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct exact;
struct stacks;

struct callgraph_node {
	uint32_t function;  /* number (frames.h) */
	uint64_t calls;     /* resumptions included; 0: not known */
	double self, total; /* in the stacks' unit, as all values here */
};

struct callgraph_edge {
	size_t caller, callee; /* index in nodes; equal where a function calls itself */
	uint64_t calls;        /* as above */
	double value;
};

struct callgraph {
	const struct callgraph_node *nodes; /* total falls */
	size_t n_nodes;
	const struct callgraph_edge *edges; /* by caller, then time falls */
	size_t n_edges;
	double value;      /* of all stacks: what shares are of */
	size_t n_left_out; /* nodes */
};

struct callgraph_options {
	double node_share, edge_share; /* at least; of all time */
	const char *root, *leaf; /* patterns of names (fnmatch), NULL: all. Only what they call;
					 * only what calls them */
};

/* x: calls that were counted, which then are what it is made of (NULL: stacks). */
const struct callgraph *callgraph_build(struct arena *a, const struct stacks *s,
	const struct exact *x, const struct callgraph_options *o);

#endif
