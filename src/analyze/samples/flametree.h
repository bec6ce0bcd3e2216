/* SPDX-License-Identifier: MIT
 *
 * Flame tree: the calling contexts of stacks as arrays in depth-first order, for pictures. However large it is, what
 * fits a screen is found quickly: children lie by total, falling, so the first that is too small ends the search.
 *
 *	const struct flametree *t = flametree_build(&a, stacks, lost_share);
 *	struct flametree_box *boxes = …;
 *	n = flametree_slice(t, node, t->total[node] / width / 2, (struct flametree_window){ 0 }, boxes, n_most);
 *
 * Node 0 is the root and no function; a node's subtree is the nodes from it up to, not including, end[node]. Times add up: a
 * node's total is its self and its children's totals. A context is a node however its frames repeat (stack_filter.h
 * collapses them). */
#ifndef ANALYZE_SAMPLES_FLAMETREE_H
#define ANALYZE_SAMPLES_FLAMETREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct stacks;
struct state_thread;
struct timeline;

enum { FLAMETREE_NODES = 16000000 }; /* deeper frames then belong to the last that is there */

struct flametree {
	size_t n;     /* at least 1, at most FLAMETREE_NODES */
	bool is_time; /* children lie as they began, x is seconds since the recording began */
	const uint32_t *parent, *end, *function;
	const uint32_t *depth; /* of the root 0 */
	const uint32_t *n_children;
	const double *x; /* where it begins, from the root's begin on */
	const double *total, *self;
	const uint32_t *n_samples; /* of total; UINT32_MAX: or more */
	const uint64_t *n_calls;   /* of the node itself, exactly traced; NULL: calls were not */
};

const struct flametree *flametree_build(struct arena *a, const struct stacks *s, double lost_share);

/* One thread in the order of time: a node is a call as far as samples show it. Samples count whatever their state; the
 * stacks say how frames are shown. */
const struct flametree *flametree_of_time(
	struct arena *a, const struct stacks *s, const struct state_thread *thread);

/* The same of calls that were traced in the order of time; zero_ns: when the recording began. Nodes then have one call each. */
const struct flametree *flametree_of_calls(
	struct arena *a, const struct timeline *t, uint32_t thread_row, uint64_t zero_ns);

struct flametree_box {
	uint32_t node;
	uint32_t n_hidden; /* children that are too small … */
	double hidden;     /* … and their totals */
};

struct flametree_window { /* of x; to 0: everything */
	double from, to;
};

/* The subtree's nodes that are at least so large, and in the window, in order, the node first; at most n_most of them: where there are more,
 * the limit rises until they fit. Returns their number. */
size_t flametree_slice(const struct flametree *t, uint32_t node, double at_least,
	struct flametree_window window, struct flametree_box *to, size_t n_most);

/* Names a context by its functions from the root on, whatever else the tree holds: texts, so that they last. */
uint64_t flametree_key(const struct flametree *t, const struct stacks *s, uint32_t node);
/* The same step by step; the root's is 0. */
uint64_t flametree_key_below(uint64_t parent, const struct stacks *s, uint32_t function);
/* The node of a key; 0, the root, when there is none. */
uint32_t flametree_find(const struct flametree *t, const struct stacks *s, uint64_t key);

#endif
