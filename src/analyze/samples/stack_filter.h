/* SPDX-License-Identifier: MIT
 *
 * Shape: how stacks are changed before anything is made of them, as a user asks for it: begin at a function, leave
 * out stacks with one, let functions vanish into their callers, show recursion once. Patterns are pattern.h's.
 *
 *	struct stack_filter *s;
 *	stack_filter_new(&s, &a, frames, &(struct stack_filter_options){ .focus = { &text, 1 } }, &e);
 *	stacks_build(&a, tables, &(struct stacks_options){ .frames = frames, .shape = s });
 *
 * Order: drop, focus, merge, collapse. Several patterns of one kind: focus wants all of them, one inside the other's
 * stacks (each begins the stack anew at its own function), the others any. */
#ifndef ANALYZE_SAMPLES_STACK_FILTER_H
#define ANALYZE_SAMPLES_STACK_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code/frames.h"

struct arena;
struct err;
struct stack_filter;

struct stack_filter_patterns {
	const char *const *v;
	size_t n;
};

struct stack_filter_options {
	struct stack_filter_patterns focus, drop, merge;
	/* only stacks with a function that matches; they stay as they are */
	struct stack_filter_patterns keep;
	bool collapse;
};

/* Nothing to do: *ret is NULL. ERR_USAGE for what is no pattern. frames must be those of the stacks. */
int stack_filter_new(struct stack_filter **ret, struct arena *a, struct frames *f,
	const struct stack_filter_options *o, struct err *e);
void stack_filter_free(struct stack_filter *s); /* accepts NULL */

/* The same frame by frame, from the root on: each with its caller's state, which is {0} for the outermost. */
struct stack_filter_state {
	uint32_t n_focused; /* patterns that begin at this frame or before */
	bool is_kept, is_dropped, has_begun;
};

enum stack_filter_step { /* flags */
	STACK_FILTER_BEGIN =
		1 << 0, /* what was before is no part of the stack, which begins here */
	STACK_FILTER_ADD =
		1 << 1, /* the frame stays; of a stack none of which does, the one that began it */
};

unsigned stack_filter_step(
	struct stack_filter *s, struct stack_filter_state *state, uint32_t function);
/* Of the whole stack: whether it counts. */
bool stack_filter_counts(const struct stack_filter *s, const struct stack_filter_state *state);
/* Whether repetitions (calltree.h) are left out of what is added. */
bool stack_filter_collapses(const struct stack_filter *s);

/* Changes a stack in place, leaf first; returns what is left of it, 0: it does not count. */
size_t stack_filter_apply(struct stack_filter *s, struct stack_frame *frames, size_t n);

#endif
