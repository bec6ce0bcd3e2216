/* SPDX-License-Identifier: MIT
 *
 * Processes that a signal killed, and where each of their threads was seen last. */
#ifndef ANALYZE_SAMPLES_CRASH_STACKS_H
#define ANALYZE_SAMPLES_CRASH_STACKS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct stacks;
struct tables;

struct crash_thread {
	size_t thread; /* index in stacks->threads */
	double age_s;  /* from its last sample that shows Python code to the end of the process */
};

struct crash_stacks {
	uint32_t pid;
	int signal;
	/* youngest first; those that ended long before are not here */
	const struct crash_thread *threads;
	size_t n_threads;
};

/* In the order of the ends; processes without samples are left out. */
const struct crash_stacks *crash_stacks_build(
	struct arena *a, struct tables *t, const struct stacks *s, size_t *ret_n);

#endif
