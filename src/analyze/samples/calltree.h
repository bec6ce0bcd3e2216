/* SPDX-License-Identifier: MIT
 *
 * Call tree: who called whom, from the roots down, with the time below and in each. Nodes are functions,
 * whatever line they were at. Times add up: a node's total is its self and its children's totals.
 *
 * Recursion is shown once: where the last frames of a stack repeat those before them (f f, or f g f g, up
 * to CALLTREE_PERIOD frames), the repetition is left out, and the node says so. Frames that recur with
 * others between them are no repetition and stay. */
#ifndef ANALYZE_SAMPLES_CALLTREE_H
#define ANALYZE_SAMPLES_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/interval.h"

struct arena;
struct stacks;

enum { CALLTREE_PERIOD = 12 };

/* How many of the innermost functions (leaf first) repeat as many behind them; 0: none. */
size_t calltree_repeated(const uint32_t *functions, size_t n);

struct calltree_node {
	uint32_t function; /* number (frames.h) */
	bool is_recursive;
	uint64_t self_n, total_n;       /* samples */
	uint64_t n_calls;               /* exactly traced; resumptions of generators are none */
	double self, total;             /* in the stacks' unit */
	struct interval total_interval; /* of a corrected time (exact.h); else unknown */
	const struct calltree_node *const *children; /* by total time, falling */
	size_t n_children;
};

/* The root is no function; its children are the roots of the stacks. keep (NULL: all): by function number;
 * stacks without such a function are left out. */
const struct calltree_node *calltree_build(
	struct arena *a, const struct stacks *s, double lost_share, const bool *keep);

#endif
