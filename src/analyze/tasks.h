/* SPDX-License-Identifier: MIT
 *
 * Tasks: the time of asyncio's tasks, as far as the samples of their threads say which one ran. */
#ifndef ANALYZE_TASKS_H
#define ANALYZE_TASKS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct stacks;
struct tables;

struct task {
	const char *name; /* tasks of one name are one row */
	uint64_t n_samples;
	double seconds;    /* it ran, in Python or in what that called */
	double cpu_s;      /* of them, on a CPU */
	uint32_t top_leaf; /* function most of its time ends in, see frames.h */
};

struct tasks {
	const struct task *v; /* most time first */
	size_t n;
	double other_s; /* time of these threads outside of any task: the loop itself, waiting included */
};

/* Of the whole recording. s: for its names of functions. Never NULL. */
const struct tasks *tasks_build(struct arena *a, struct tables *t, const struct stacks *s);

#endif
