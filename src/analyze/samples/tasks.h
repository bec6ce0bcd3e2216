/* SPDX-License-Identifier: MIT
 *
 * Tasks: the time of asyncio's tasks, as far as the samples of their threads say which one ran.
 *
 * Tasks are grouped by the coroutine function they run: what stands right below the event loop (Handle._run of asyncio/events.py,
 * steps of tasks written in Python passed over) on the stacks of their samples. Where no stack tells, by their names, numbers as *. */
#ifndef ANALYZE_SAMPLES_TASKS_H
#define ANALYZE_SAMPLES_TASKS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct stacks;
struct tables;

struct task {
	const char *name; /* tasks of one name are one row */
	uint64_t n_samples;
	double seconds;     /* it ran, in Python or in what that called */
	double cpu_s;       /* of them, on a CPU */
	uint32_t top_leaf;  /* function most of its time ends in, see frames.h */
	uint32_t coroutine; /* the function it runs, or TASK_UNKNOWN */
};

enum { TASK_UNKNOWN = UINT32_MAX };

struct task_group { /* tasks of one coroutine function, as many as were seen to run */
	const char *name;
	uint32_t coroutine; /* or TASK_UNKNOWN: then `name` is that of the tasks, "Task-*" */
	size_t n_tasks;
	uint64_t n_samples;
	double seconds, cpu_s;            /* all of them together */
	double least_s, median_s, most_s; /* of one task */
	uint32_t top_leaf;                /* of the task with most time */
};

struct tasks {
	const struct task *v; /* most time first */
	size_t n;
	const struct task_group *groups; /* likewise */
	size_t n_groups;
	double other_s; /* time of these threads outside of any task: the loop itself, waiting included */
};

/* Of the whole recording. s: for its names of functions. Never NULL. */
const struct tasks *tasks_build(struct arena *a, struct tables *t, const struct stacks *s);

#endif
