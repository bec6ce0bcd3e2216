/* SPDX-License-Identifier: MIT
 *
 * Memory: what a program had allocated, estimated from sampled allocations (blocks.h), by process and all together, and which places
 * in its code that was. Pure: reads records only.
 *
 *	struct memory *m = memory_load(tables);                    NULL: allocations were not recorded
 *	const struct memory_part *p = memory_choose(&arena, m, &(struct memory_options){ .view = MEMORY_PEAK });
 *	p->sum, p->interval                                        all of it; sampled_sum.h
 *	p->v                                                       by thread and stack: what stacks are built of (stacks.h)
 *
 * The peak of several processes is one moment: the one at which all of them together had most. What is alive when its process ends is
 * not released by it, so it counts as alive at the end, and no longer counts in the sum of all processes. An interpreter that ends
 * releases what modules hold, which says nothing of the program: the end is when its own code was seen last (blocks.h).
 *
 * Growth is what places (a stack of one process) have more at the end than at the beginning: what came and stayed, less what they
 * had and gave back. Places that have less are not part of it; `given_back` is how much less. */
#ifndef ANALYZE_MEMORY_MEMORY_H
#define ANALYZE_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/memory/blocks.h"
#include "analyze/stats/sampled_sum.h"

struct arena;
struct stack_weight;
struct tables;

enum memory_view {
	MEMORY_NONE,   /* not asked: time is */
	MEMORY_PEAK,   /* alive when most was */
	MEMORY_GROWTH, /* more at the end than at the beginning */
	MEMORY_LEAKS,  /* allocated in that time and not released until its end */
	MEMORY_CHURN,  /* allocated in that time, whatever became of it */
	MEMORY_VIEWS_
};

/* "peak", "growth", "leaks", "churn", by view; "" for none, NULL ends them. */
extern const char *const memory_views[];

enum { MEMORY_POINTS = 240 };

struct memory_point {
	double t_s, bytes; /* the most that was alive around then */
};

/* Estimates of one process, or of all. Times are since the recording began. */
struct memory_sums {
	double peak_s; /* when most was alive */
	struct sampled_sum peak, live, allocated;
	/* What was counted exactly; UNITS_UNKNOWN: it was not. */
	double counted_bytes, counted_n;
	uint64_t n_sampled, n_dropped, n_frees_dropped;
};

struct memory {
	struct memory_blocks *blocks;             /* owned */
	struct memory_sums all;                   /* together */
	struct memory_sums *processes;            /* owned; as blocks->processes */
	struct memory_point curve[MEMORY_POINTS]; /* of all together */
	size_t n_points;
	double period_bytes;   /* mean distance of samples, the longest; 0: all were recorded */
	double begin_s, end_s; /* of the records */
	/* Samples are missing: figures are at least so much. Releases are: what is alive is at most so much. */
	bool is_at_least, is_at_most;
	uint32_t *by_end; /* owned: blocks in the order in which they were gone */
};

struct memory_options {
	enum memory_view view;
	double from_s, to_s; /* since the recording began; 0: as the view has it */
	/* Rows; NULL: all. The peak is that of the processes, and a thread has its part of it. */
	const uint32_t *threads, *processes;
	size_t n_threads, n_processes;
};

struct memory_part {
	enum memory_view view;
	double from_s, to_s; /* the time looked at; of a peak both are its moment */
	const struct stack_weight
		*v; /* those with n 0, too: threads have the same numbers in all views */
	size_t n;
	struct sampled_sum sum;
	struct interval interval; /* of the sum, 95 % */
	double given_back; /* of growth: by places that shrank, bytes; UNITS_UNKNOWN of some threads */
};

struct memory *memory_load(struct tables *t);
void memory_free(struct memory *m); /* NULL is fine */

/* Never NULL; lives in the arena. */
const struct memory_part *memory_choose(
	struct arena *a, const struct memory *m, const struct memory_options *o);

#endif
