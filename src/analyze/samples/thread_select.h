/* SPDX-License-Identifier: MIT
 *
 * Which threads a user means: tids, numbers as the list of threads shows them (#1), names with * and ?, with commas
 * between them; or the pids of their processes. */
#ifndef ANALYZE_SAMPLES_THREAD_SELECT_H
#define ANALYZE_SAMPLES_THREAD_SELECT_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct stacks_options;
struct tables;

struct thread_rows {
	const uint32_t *v; /* rows of the thread table */
	size_t n;
};

/* all: how stacks are built that have all threads. threads, processes: NULL: all. ERR_USAGE for a word that fits no sampled thread, and when no thread fits both. */
int threads_choose(struct arena *a, struct tables *t, const struct stacks_options *all,
	const char *threads, const char *processes, struct thread_rows *ret, struct err *e);

#endif
