/* SPDX-License-Identifier: MIT
 *
 * The paths of a diff as a tree that can be drawn: as flametree.h has it for one recording, with what it was in A and is in B in each
 * box. Boxes are as wide as they are on one of the sides, the larger ones first; what is not there on that side has no
 * width, and is not drawn.
 *
 *	const struct diff_tree *t = diff_tree_build(&a, d, 1);
 *	n = diff_tree_slice(t, 0, t->v[0].width / width / 2, boxes, n_most);
 *
 * Node 0 is the root, above all paths. */
#ifndef ANALYZE_DIFF_DIFF_TREE_H
#define ANALYZE_DIFF_DIFF_TREE_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct diff;
struct diff_row;

struct diff_node {
	const struct diff_row *row; /* NULL: the root */
	uint32_t parent;            /* of the root 0 */
	uint32_t end;               /* the first node behind its subtree */
	uint32_t depth;
	double x, width; /* in the diff's unit, of the side chosen */
};

struct diff_tree {
	const struct diff_node *v; /* depth first, wider children first */
	size_t n;                  /* at least 1 */
};

/* side: 0 A, 1 B. */
const struct diff_tree *diff_tree_build(struct arena *a, const struct diff *d, int side);

struct diff_box {
	uint32_t node;
	uint32_t n_hidden; /* its children that are too small */
};

/* The nodes of a subtree that are at least so wide, the node first; at most n_most. Returns their number. */
size_t diff_tree_slice(const struct diff_tree *t, uint32_t node, double at_least,
	struct diff_box *to, size_t n_most);

#endif
