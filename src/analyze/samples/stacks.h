/* SPDX-License-Identifier: MIT
 *
 * Stacks: the samples of a recording gathered into distinct places (a stack with its leaf, in one
 * thread), which are few; what every view of samples begins with. Pure: reads records only.
 *
 *	const struct stacks *s = stacks_build(&a, tables, &options);
 *	for (size_t i = 0; i < s->n; i++)
 *		for (at = s->paths->of_place[i]; at; at = s->paths->v[at].parent)     leaf first; see paths.h
 *
 * Each sample weighs half of the time since the sample of the same thread before it and half of the
 * time to the next (measured, not nominal): at high rates what a sample costs depends on what it saw,
 * so counts alone would favour cheap places. A shortened sample ends in the synthetic frame
 * "[cut]". Lost samples have no place; n_lost tells them.
 *
 * Another tool's file has `weight` records instead: what it says of a stack is its weight, in `unit`, which
 * need not be time. On a CPU or not, holding the GIL or not: such files do not say, so their samples count
 * only as STACKS_WALL and no thread of theirs is idle.
 *
 * Exactly traced calls (nodes.h) come before samples: where a recording has both, the places are calling
 * contexts, their weight is their self time, and they have no samples.
 *
 * Idle threads. A sample waits when its thread is off the CPU, without the GIL, and its leaf is one of the
 * standard library's waits (a lock, a queue, a selector, a child: the list is in stacks_idle.c). A thread
 * is idle when it has four samples or more, is next to never on a CPU (5 %) and 95 % of its time waits, or is in one function
 * (for a process's main thread only the first counts: a sleep in the user's own code is his business).
 * fold_idle leaves out all of idle threads, and where other threads wait between two pieces of work; a main
 * thread's waits stay. Nothing is left out when nothing else would remain. */
#ifndef ANALYZE_STACKS_H
#define ANALYZE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/frames.h"
#include "base/units.h"

struct arena;
struct blocks;
struct buf;
struct paths;
struct shape;
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
	double from_s, to_s;     /* since the recording began; to_s 0: to the end */
	const uint32_t *threads; /* rows; NULL: all */
	size_t n_threads;
	bool fold_idle;
	bool only_mine; /* stacks_frames leaves out the library's frames (frames.h) */
	struct blocks *
		blocks; /* where the weights go by time as well, NULL: nowhere; traced calls have none */
	/* Function numbers stay the same in all stacks that share these; NULL: the stacks make their own. */
	struct frames *frames;
	struct shape *shape; /* how stacks_frames changes them (shape.h); NULL: not at all */
	/* For what writes each stack whole, which of a deep recursion is the square of its depth: all places have no more
	 * frames than this together, or 64 each. Of longer ones the middle is one frame, "[left out]". 0: as they are. */
	size_t frames_most;
};

struct stack_place {
	uint32_t stack, leaf_code, leaf_offset; /* rows and bytes, as in rec_sample; or, with nodes,
						   1 + the index of one in `stack` */
	uint32_t thread;                        /* index in threads */
	uint32_t number;                        /* blocks.h; not with nodes */
	bool is_off_cpu;                        /* and without the GIL */
	uint64_t n_samples;
	uint64_t n_calls; /* with nodes; resumptions of generators are none */
	double value;
	double squares; /* sum of the samples' values² */
};

struct stack_thread {
	uint32_t row, tid, pid;
	const char *name;
	uint64_t n_samples;  /* in the time looked at, whatever their state … */
	double all;          /* … and their value: a sleeping thread is sampled rarely */
	double cpu_s, gil_s; /* of it; 0 where samples do not say */
	double value;        /* of the samples that count */
	double waiting_s;    /* time in one of the standard library\'s waits */
	bool is_idle;
	uint32_t top_leaf; /* function most of its samples end in */
	/* Its last sample, whatever its state: */
	uint32_t last_stack, last_code, last_offset;
	uint64_t last_ns; /* CLOCK_MONOTONIC */
};

struct stacks {
	const struct stack_place *v;
	size_t n;
	const struct stack_thread *threads; /* in order of appearance */
	size_t n_threads;
	uint64_t n_samples; /* that count, without lost ones */
	uint64_t n_shortened, n_lost;
	double lost_share;     /* of n_samples and n_lost together; a shape leaves it as it is */
	double value, squares; /* sums over the places */
	uint64_t n_folded;     /* samples left out by fold_idle */
	size_t n_idle_threads;
	bool only_mine;
	struct shape *shape;
	bool is_foreign; /* another tool's figures */
	bool has_times;  /* … which say when; samples always do */
	enum unit unit;  /* of all values: seconds, bytes or a count */
	struct frames *frames;
	const struct paths *paths; /* of the places */
	const struct nodes *nodes; /* never NULL; n = 0: samples, or another tool's figures */
	struct tables *tables;
};

/* Never NULL; n = 0 without samples. */
const struct stacks *stacks_build(
	struct arena *a, struct tables *t, const struct stacks_options *o);

/* What fold_idle left out: "2 idle threads and waits for work, 40 % of all samples"; nothing where it was nothing. */
void stacks_describe_idle(const struct stacks *s, struct buf *to);
/* Whether a sample with these bits (enum sample_state) counts. */
bool stacks_has_state(enum stacks_state state, unsigned bits);

/* The frames of a place, leaf first, at most STACKS_DEPTH; returns their number. */
size_t stacks_frames(const struct stacks *s, size_t place, struct stack_frame to[STACKS_DEPTH]);
/* The same for a sample that has these (rows and bytes, as in rec_sample). */
size_t stacks_frames_at(const struct stacks *s, uint32_t stack, uint32_t leaf_code,
	uint32_t leaf_offset, struct stack_frame to[STACKS_DEPTH]);
/* The same for the last sample of a thread, the library's frames included. */
size_t stacks_last_frames(
	const struct stacks *s, size_t thread, struct stack_frame to[STACKS_DEPTH]);

#endif
