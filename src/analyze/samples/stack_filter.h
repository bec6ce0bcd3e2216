/* SPDX-License-Identifier: MIT
 *
 * Shape: how stacks are changed before anything is made of them, as a user asks for it: begin at a function, leave
 * out stacks with one, let functions vanish into their callers, show recursion once. Patterns are pattern.h's.
 *
 *	struct shape *s;
 *	shape_new(&s, &a, frames, &(struct shape_options){ .focus = { &text, 1 } }, &e);
 *	stacks_build(&a, tables, &(struct stacks_options){ .frames = frames, .shape = s });
 *
 * Order: drop, focus, merge, collapse. Several patterns of one kind: focus wants all of them, one inside the other's
 * stacks (each begins the stack anew at its own function), the others any. */
#ifndef ANALYZE_SHAPE_H
#define ANALYZE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/frames.h"

struct arena;
struct err;
struct shape;

struct shape_patterns {
	const char *const *v;
	size_t n;
};

struct shape_options {
	struct shape_patterns focus, drop, merge;
	struct shape_patterns
		keep; /* only stacks with a function that matches; they stay as they are */
	bool collapse;
};

/* Nothing to do: *ret is NULL. ERR_USAGE for what is no pattern. frames must be those of the stacks. */
int shape_new(struct shape **ret, struct arena *a, struct frames *f, const struct shape_options *o,
	struct err *e);
void shape_free(struct shape *s); /* accepts NULL */

/* The same frame by frame, from the root on: each with its caller's state, which is {0} for the outermost. */
struct shape_state {
	uint32_t n_focused; /* patterns that begin at this frame or before */
	bool is_kept, is_dropped, has_begun;
};

enum shape_step {             /* flags */
	SHAPE_BEGIN = 1 << 0, /* what was before is no part of the stack, which begins here */
	SHAPE_ADD =
		1 << 1, /* the frame stays; of a stack none of which does, the one that began it */
};

unsigned shape_step(struct shape *s, struct shape_state *state, uint32_t function);
/* Of the whole stack: whether it counts. */
bool shape_counts(const struct shape *s, const struct shape_state *state);
/* Whether repetitions (calltree.h) are left out of what is added. */
bool shape_collapses(const struct shape *s);

/* Changes a stack in place, leaf first; returns what is left of it, 0: it does not count. */
size_t shape_apply(struct shape *s, struct stack_frame *frames, size_t n);

#endif
