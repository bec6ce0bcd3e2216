/* SPDX-License-Identifier: MIT
 *
 * Paths: the stacks of all places (stacks.h) as one tree, each frame below its caller's, as only_mine and the shape leave
 * them. A stack is as deep as the program recursed, and a traced one has a place at every depth: who goes through each
 * place's frames by itself does work that grows with the square of the depth. Here every context stands once, so what
 * adds up times goes through the tree instead:
 *
 *	struct paths_sums sums = paths_sums(s);                  of each path, and of all below it
 *	for (uint32_t i = 1; i < p->n; i++)                      callers before callees
 *		seconds = paths_value(&sums, sums.v[i].total);
 *	paths_sums_done(&sums);
 *
 *	struct paths_walk w = paths_walk(p);                     depth first, so that what is open is the path
 *	for (uint32_t at; paths_next(&w, &at);)
 *		n += w.is_entering ? active[p->v[at].function]++ == 0 : …
 *	paths_walk_done(&w);
 *
 * Path 0 is the root and no frame. Paths come in the order in which the places need them, the root's side first. Two paths
 * may have the same functions; no more of them stand here than the recording has stacks and leaves. */
#ifndef ANALYZE_SAMPLES_PATHS_H
#define ANALYZE_SAMPLES_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code/frames.h"
#include "analyze/samples/imports.h"

struct arena;
struct stacks;

struct path {
	uint32_t parent;
	uint32_t function; /* number (frames.h); of path 0 none */
	uint32_t frame;    /* index in frames; UINT32_MAX: the function, without a line */
};

struct paths {
	const struct path *v;
	size_t n;                 /* at least 1 */
	const uint32_t *of_place; /* by place: its leaf; 0: the stack does not count */
	const struct stack_frame *frames;
	struct imports imports; /* that are one row each where they were */
};

/* Of the stacks as they are but for this. In the arena. frames_most as in stacks_options. */
const struct paths *paths_build(struct arena *a, const struct stacks *s, size_t frames_most);

struct stack_frame paths_frame(const struct stacks *s, uint32_t path);

/* Times as whole numbers of a small unit: what they add up to does not depend on the order in which they are added, so
 * what took the same time has the same figure. All places together fit. */
__extension__ typedef __int128 path_time;

struct path_sum {
	path_time self, total;
	uint64_t self_n, total_n; /* samples */
};

struct paths_sums {
	struct path_sum *v; /* by path; owned */
	int exponent;       /* of the unit, a power of two */
};

struct paths_sums paths_sums(const struct stacks *s);
void paths_sums_done(struct paths_sums *sums);
double paths_value(const struct paths_sums *sums, path_time time);
/* Of a time no longer than that of all places. */
path_time paths_time(const struct paths_sums *sums, double seconds);

struct paths_walk {
	const struct paths *p;
	uint32_t *first, *next; /* owned: children of each, 0: none */
	uint32_t at;
	bool is_entering; /* else the path is left, and all below it are done */
};

struct paths_walk paths_walk(const struct paths *p);
bool paths_next(struct paths_walk *w, uint32_t *ret_path);
void paths_walk_done(struct paths_walk *w);

#endif
