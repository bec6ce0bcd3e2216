/* SPDX-License-Identifier: MIT
 *
 * Contexts: stacks of functions as a tree, for formats that have a table of stacks in which each names its caller's.
 * Numbers begin at 1, callers come before those they call; 0 is no stack at all. */
#ifndef FORMATS_CONTEXTS_H
#define FORMATS_CONTEXTS_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct span;
struct spans;

struct context {
	uint32_t parent;   /* number */
	uint32_t function; /* number (frames.h) */
	uint32_t depth;    /* of a root 1 */
};

struct contexts {
	VEC(struct context) v; /* [number − 1] */
	struct map children;   /* parent << 32 | function → number */
	uint32_t *of_path;     /* by path (paths.h): number */
	VEC(uint32_t) pending;
};

/* The number of a span's stack, new or not. */
uint32_t contexts_of(struct contexts *c, const struct spans *s, const struct span *x);
/* Takes in all threads of the spans. */
void contexts_fill(struct contexts *c, const struct spans *s);
/* 0 of no stack at all. */
static inline uint32_t contexts_depth(const struct contexts *c, uint32_t number)
{
	return number ? c->v.v[number - 1].depth : 0;
}

void contexts_done(struct contexts *c);

#endif
