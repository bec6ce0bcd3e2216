/* SPDX-License-Identifier: MIT
 *
 * Turned: a flame tree's times grouped anew, from the functions whose own time it is up to the roots (inverted), or around one
 * function: who called it, what it called. Such a tree may be larger than the one it is made of, so it is made only as far
 * as it is looked at: a node gets its children when it is shown.
 *
 *	struct inverted_tree *t = inverted_tree_new(tree, INVERTED_TREE_CALLERS, 0);
 *	n = inverted_tree_slice(t, node, at_least, boxes, n_most);
 *	const struct flametree *nodes = inverted_tree_nodes(t);     nodes->total[boxes[i].node] …
 *	inverted_tree_free(t);
 *
 * Node 0 is the root and no function; around one function, node 1 is that function. Numbers stay while it lives. A stack
 * counts once however often the function recurs in it: from its outermost call on. */
#ifndef ANALYZE_SAMPLES_INVERTED_TREE_H
#define ANALYZE_SAMPLES_INVERTED_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/samples/flametree.h"

struct stacks;
struct inverted_tree;

enum inverted_tree_direction {
	INVERTED_TREE_CALLERS,    /* inverted; self: of stacks that begin there */
	INVERTED_TREE_CALLERS_OF, /* likewise, from one function on */
	INVERTED_TREE_CALLEES_OF,
};

/* The tree (flametree_build's) is borrowed. */
struct inverted_tree *inverted_tree_new(
	const struct flametree *tree, enum inverted_tree_direction direction, uint32_t function);
void inverted_tree_free(struct inverted_tree *t); /* accepts NULL */

/* As flametree_slice. Makes what is missing. */
size_t inverted_tree_slice(struct inverted_tree *t, uint32_t node, double at_least,
	struct flametree_box *to, size_t n_most);

/* The nodes made so far, until the next slice. They lie in no order, and have no end. */
const struct flametree *inverted_tree_nodes(struct inverted_tree *t);

/* The node of a flametree_key; 0 when there is none, or none that is not tiny. */
uint32_t inverted_tree_find(struct inverted_tree *t, const struct stacks *s, uint64_t key);

#endif
