/* SPDX-License-Identifier: MIT
 *
 * Parted: a flame tree of a call graph, where a file only says who called whom (cProfile's and callgrind's). What such a file
 * cannot tell is in which context a function spent its time: it is parted among its callers as the times of their calls of it say
 * (or their number, where there are no times), and each of them hands its part on to its own callers. So the tree is a picture of the
 * graph and not of true stacks; views of it say so.
 *
 * Where the graph has no cycle and its figures agree, a function's boxes add up to its cumulative time, and its box in the only
 * context of a caller is as wide as that caller's calls of it. A call of a function that is active already (recursion, cycles) gets no
 * box: what it took stays with the boxes that are there. So the tree ends, and whatever the graph is, all boxes together come to
 * the self times of all functions, each to its own. Paths in a graph may be more than atoms: the widest PARTED_TREE_NODES are made, the
 * rest stays in the box above it. */
#ifndef ANALYZE_SAMPLES_PARTED_TREE_H
#define ANALYZE_SAMPLES_PARTED_TREE_H

struct arena;
struct exact;
struct flametree;

enum { PARTED_TREE_NODES = 100000 };

const struct flametree *parted_tree_build(struct arena *a, const struct exact *x);

#endif
