/* SPDX-License-Identifier: MIT
 * What functions did while a budget had switched them off, put into exact figures: see exact.h and estimate.h. Processes are
 * estimated one by one and then added up. */
#ifndef ANALYZE_CALLS_EXACT_ESTIMATES_H
#define ANALYZE_CALLS_EXACT_ESTIMATES_H

#include <stddef.h>
#include <stdint.h>

struct exact_edge;
struct exact_function;
struct frames;
struct nodes;
struct tables;

/* Of a node: no caller of it is of the same function; or was called by the same function. */
enum { EXACT_OUTERMOST = 1, EXACT_OUTERMOST_EDGE = 2 };

struct exact_estimates {
	struct exact_function *functions;
	size_t n_functions;
	struct exact_edge *edges;
	size_t n_edges;
	const struct nodes *nodes;
	/* By node + 1: */
	const uint32_t *rows;       /* which function (index) it is of */
	const uint32_t *edge_of;    /* which edge (index); UINT32_MAX: nobody called it */
	const unsigned char *outer; /* see above */
};

/* Adds the estimates; returns of how many functions. What is added was somebody's who was watched all the time, and is taken
 * from there (estimate_paths.h): own times add up to what they did, and no total is above that of the thread. */
size_t exact_estimates_apply(struct exact_estimates *x, struct tables *t, struct frames *f);

#endif
