/* SPDX-License-Identifier: MIT
 *
 * Stacks: the samples of a recording gathered into distinct places (a stack with its leaf, in one
 * thread), which are few; what every view of samples begins with. Pure: reads records only.
 *
 *	const struct stacks *s = stacks_build(&a, tables, &options);
 *	for (size_t i = 0; i < s->n; i++)
 *		for (at = s->paths->of_place[i]; at; at = s->paths->v[at].parent)     leaf first; see paths.h
 *
 * Each sample weighs the time it stands for (measured, not nominal: weights.h). Where the sampler came late, a thread that may have
 * run has a place without samples, "[sampler late]", which counts as wall time alone. A shortened sample ends in the synthetic
 * frame "[cut]". Lost samples have no place; n_lost tells them.
 *
 * Another tool's file has `weight` records instead: what it says of a stack is its weight, in `unit`, which
 * need not be time. On a CPU or not, holding the GIL or not: such files do not say, so their samples count
 * only as STACKS_WALL and no thread of theirs is idle.
 *
 * Exactly traced calls (nodes.h) come before samples: where a recording has both, the places are calling
 * contexts, their weight is their self time, and they have no samples.
 *
 * Sampled allocations (analyze/memory) come as weights that were worked out before: then stacks are of those, in bytes, and nothing
 * else of the recording counts. They are no time either: `is_foreign` is set.
 *
 * Idle threads. A sample waits when its thread is off the CPU, without the GIL, and its leaf is one of the
 * standard library's waits (a lock, a queue, a selector, a child: the list is in stacks_idle.c). A thread
 * is idle when it has four samples or more, is next to never on a CPU (5 %) and 95 % of its time waits, or is in one function
 * (for a process's main thread only the first counts: a sleep in the user's own code is his business).
 * fold_idle leaves out waits, and what else idle threads are in off a CPU; never time on one. A main thread's waits are left out only
 * where others did the work: the other threads of its process, or those of its children, used more CPU time than it did. Nothing
 * is left out when nothing but waits would remain. */
#ifndef ANALYZE_SAMPLES_STACKS_H
#define ANALYZE_SAMPLES_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code/frames.h"
#include "analyze/samples/imports.h"
#include "analyze/stats/sampled_sum.h"
#include "base/units.h"

struct arena;
struct time_blocks;
struct buf;
struct stretch;
struct paths;
struct rec_sample;
struct stack_filter;
struct tables;

enum { STACKS_DEPTH = 16384 };

enum stacks_state {      /* which time counts */
	STACKS_WALL,     /* all */
	STACKS_CPU,      /* on a CPU */
	STACKS_GIL,      /* holding the GIL */
	STACKS_WAIT,     /* not running */
	STACKS_RUNNABLE, /* ready to run, and without a CPU */
	STACKS_STATES_
};

struct stack_weight { /* of a stack of a thread; with n 0 the thread is listed all the same */
	uint32_t thread, stack; /* rows; the stack with its leaf */
	struct sampled_sum sum;
};

struct stacks_options {
	/* Stacks of these, in this unit, instead of samples; NULL: of samples. */
	const struct stack_weight *weights;
	size_t n_weights;
	enum unit weights_unit;
	enum stacks_state state;
	double from_s, to_s; /* since the recording began; to_s 0: to the end */
	/* And in one of these, in the order of time, CLOCK_MONOTONIC (our own samples only); NULL: always. */
	const struct stretch *within;
	size_t n_within;
	const uint32_t *threads; /* rows; NULL: all */
	size_t n_threads;
	bool fold_idle;
	enum imports_mode imports; /* of our own samples */
	bool only_mine;            /* stacks_frames leaves out the library's frames (frames.h) */
	/* where the weights go by time as well, NULL: nowhere; traced calls have none */
	struct time_blocks *blocks;
	/* Function numbers stay the same in all stacks that share these; NULL: the stacks make their own. */
	struct frames *frames;
	/* how stacks_frames changes them (stack_filter.h); NULL: not at all */
	struct stack_filter *shape;
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
	uint32_t row, tid, pid, parent_pid;
	const char *name;
	uint64_t n_samples;       /* in the time looked at, whatever their state … */
	double all;               /* … and their value: a sleeping thread is sampled rarely */
	double cpu_s, runnable_s; /* of it on a CPU, and ready without one (on_cpu.h) … */
	double gil_s;             /* … holding the GIL; 0 where samples do not say */
	double value;             /* of the samples that count */
	double waiting_s;         /* time in one of the standard library\'s waits */
	bool is_idle;
	bool folds_waits;  /* its waits are for others' work, or theirs for its */
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
	double look_squares; /* sum of squares of what the samples of one look weigh together (interval.h) */
	uint64_t n_folded; /* samples left out by fold_idle … */
	double folded;     /* … and their value */
	size_t n_idle_threads;
	bool only_mine;
	enum imports_mode imports; /* paths tell what was folded */
	struct stack_filter *shape;
	bool is_foreign;                /* another tool's figures */
	bool has_times;                 /* … which say when; samples always do */
	enum unit unit;                 /* of all values: seconds, bytes or a count */
	const struct sampled_sum *sums; /* of weights, by place's number; else NULL */
	struct frames *frames;
	const struct paths *paths; /* of the places */
	const struct nodes *nodes; /* never NULL; n = 0: samples, or another tool's figures */
	struct tables *tables;
};

/* Never NULL; n = 0 without samples. */
const struct stacks *stacks_build(
	struct arena *a, struct tables *t, const struct stacks_options *o);

/* What fold_idle left out: "2 idle threads and waits for work, 40 % of all sampled time"; nothing where it was nothing. */
void stacks_describe_idle(const struct stacks *s, struct buf *to);
/* Whether a function is one of the standard library's waits, or of a launcher's. */
bool stacks_is_wait(const char *file, const char *qualname);
/* Whether a moment is in one of the stretches asked for. */
bool stacks_is_within(const struct stacks_options *o, uint64_t t_ns);
/* The part of a sample's time that counts, 0 … 1, of one that was on a CPU for that part (weights_on_cpu). What nobody saw
 * (weights_unseen) counts only where all does. */
double stacks_part(enum stacks_state state, const struct rec_sample *s, double on_cpu);

/* The frames of a place, leaf first, at most STACKS_DEPTH; returns their number. */
size_t stacks_frames(const struct stacks *s, size_t place, struct stack_frame to[STACKS_DEPTH]);
/* The same for a sample that has these (rows and bytes, as in rec_sample). */
size_t stacks_frames_at(const struct stacks *s, uint32_t stack, uint32_t leaf_code,
	uint32_t leaf_offset, struct stack_frame to[STACKS_DEPTH]);
/* The same for the last sample of a thread, the library's frames included. */
size_t stacks_last_frames(
	const struct stacks *s, size_t thread, struct stack_frame to[STACKS_DEPTH]);

#endif
