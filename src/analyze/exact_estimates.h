/* SPDX-License-Identifier: MIT
 * What functions did while a budget had switched them off, put into exact figures: see exact.h and estimate.h. */
#ifndef ANALYZE_EXACT_ESTIMATES_H
#define ANALYZE_EXACT_ESTIMATES_H

#include <stddef.h>
#include <stdint.h>

struct exact_edge;
struct exact_function;
struct frames;
struct nodes;
struct tables;

/* Which function (index) each node is of. */
struct exact_estimates {
	struct exact_function *functions;
	size_t n_functions;
	struct exact_edge *edges;
	size_t n_edges;
	const struct nodes *nodes;
	const uint32_t *rows; /* by node + 1 */
};

/* Adds the estimates; returns of how many functions. The time that is added was the nearest caller's whose figures are
 * exact, and is taken from it. */
size_t exact_estimates_apply(struct exact_estimates *x, struct tables *t, struct frames *f);

#endif
