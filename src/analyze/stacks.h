/* SPDX-License-Identifier: MIT
 *
 * Stacks: the samples of a recording gathered into distinct places (a stack with its leaf), which are
 * few; what every view of samples begins with. Pure: reads records only.
 *
 *	const struct stacks *s = stacks_build(&a, tables, &options);
 *	struct stack_frame frames[STACKS_DEPTH];
 *	for (size_t i = 0; i < s->n; i++)
 *		n = stacks_frames(s, i, frames);          leaf first
 *
 * Each sample weighs half of the time since the sample of the same thread before it and half of the
 * time to the next (measured, not nominal): at high rates what a sample costs depends on what it saw,
 * so counts alone would favour cheap places. A shortened sample ends in the synthetic frame
 * "[cut]". Lost samples have no place; n_lost tells them. */
#ifndef ANALYZE_STACKS_H
#define ANALYZE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/frames.h"

struct arena;
struct tables;

enum { STACKS_DEPTH = 16384 };

enum stacks_state {  /* which samples count */
	STACKS_WALL, /* all */
	STACKS_CPU,  /* on a CPU */
	STACKS_GIL,  /* holding the GIL */
	STACKS_WAIT, /* not on a CPU */
};

struct stacks_options {
	enum stacks_state state;
	double from_s, to_s; /* since the first sample; to_s 0: to the end */
	uint32_t thread;     /* row, 0: all */
};

struct stack_place {
	uint32_t stack, leaf_code, leaf_offset; /* rows and bytes, as in rec_sample */
	uint64_t n_samples;
	double seconds;
};

struct stack_thread {
	uint32_t row, tid, pid;
	const char *name;
	uint64_t n_samples, n_cpu, n_gil;
	double seconds;
};

struct stacks {
	const struct stack_place *v;
	size_t n;
	const struct stack_thread *threads; /* in order of appearance */
	size_t n_threads;
	uint64_t n_samples; /* that count, without lost ones */
	uint64_t n_shortened, n_lost;
	double seconds; /* sum of weights */
	struct frames *frames;
	struct tables *tables;
};

/* Never NULL; n = 0 without samples. */
const struct stacks *stacks_build(
	struct arena *a, struct tables *t, const struct stacks_options *o);

/* The frames of a place, leaf first, at most STACKS_DEPTH; returns their number. */
size_t stacks_frames(const struct stacks *s, size_t place, struct stack_frame to[STACKS_DEPTH]);

#endif
