/* SPDX-License-Identifier: MIT
 *
 * Turned: a flame tree's times grouped anew, from the functions whose own time it is up to the roots (inverted), or around one
 * function: who called it, what it called. Such a tree may be larger than the one it is made of, so it is made only as far
 * as it is looked at: a node gets its children when it is shown.
 *
 *	struct turned *t = turned_new(tree, TURNED_CALLERS, 0);
 *	n = turned_slice(t, node, at_least, boxes, n_most);
 *	const struct flametree *nodes = turned_nodes(t);     nodes->total[boxes[i].node] …
 *	turned_free(t);
 *
 * Node 0 is the root and no function; around one function, node 1 is that function. Numbers stay while it lives. A stack
 * counts once however often the function recurs in it: from its outermost call on. */
#ifndef ANALYZE_TURNED_H
#define ANALYZE_TURNED_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/flametree.h"

struct stacks;
struct turned;

enum turned_direction {
	TURNED_CALLERS,    /* inverted; self: of stacks that begin there */
	TURNED_CALLERS_OF, /* likewise, from one function on */
	TURNED_CALLEES_OF,
};

/* The tree (flametree_build's) is borrowed. */
struct turned *turned_new(
	const struct flametree *tree, enum turned_direction direction, uint32_t function);
void turned_free(struct turned *t); /* accepts NULL */

/* As flametree_slice. Makes what is missing. */
size_t turned_slice(
	struct turned *t, uint32_t node, double at_least, struct flametree_box *to, size_t n_most);

/* The nodes made so far, until the next slice. They lie in no order, and have no end. */
const struct flametree *turned_nodes(struct turned *t);

/* The node of a flametree_key; 0 when there is none, or none that is not tiny. */
uint32_t turned_find(struct turned *t, const struct stacks *s, uint64_t key);

#endif
