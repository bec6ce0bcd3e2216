/* SPDX-License-Identifier: MIT
 *
 * Where the boxes and arrows of a directed graph go: layers from the top down, arrows downwards but for those
 * that close a circle, few crossings, each box near those it is joined with. Pure: sizes in, places out, in
 * whatever unit the sizes have.
 *
 * Circles are cut where a walk from the first node on comes back to its own path; layers are longest paths;
 * arrows over several layers get a place in each of them; the order in a layer comes from sweeps that sort by
 * the mean place of neighbours; places along a layer are the nearest to those means that keep order and
 * distance (pooling neighbours that would overlap). */
#ifndef ANALYZE_SAMPLES_GRAPH_LAYOUT_H
#define ANALYZE_SAMPLES_GRAPH_LAYOUT_H

#include <stddef.h>

struct arena;

struct graph_box {
	double width, height; /* in */
	double x, y;          /* out: upper left corner */
};

struct graph_point {
	double x, y;
};

struct graph_arrow {
	size_t from, to;                  /* in: boxes */
	const struct graph_point *points; /* out: from the edge of one box to that of the other; */
	size_t n_points;                  /* none for an arrow from a box to itself */
};

struct graph_gaps {
	double column, layer; /* between boxes; between layers */
};

/* Fills the places; returns the size of the whole. */
struct graph_point graph_layout(struct arena *a, struct graph_box *boxes, size_t n_boxes,
	struct graph_arrow *arrows, size_t n_arrows, struct graph_gaps gaps);

#endif
