/* SPDX-License-Identifier: MIT
 *
 * Endings: processes that a signal killed, and where each of their threads was seen last. */
#ifndef ANALYZE_ENDINGS_H
#define ANALYZE_ENDINGS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct stacks;
struct tables;

struct ending_thread {
	size_t thread; /* index in stacks->threads */
	double age_s;  /* from its last sample to the end of the process */
};

struct ending {
	uint32_t pid;
	int signal;
	const struct ending_thread
		*threads; /* youngest first; those that ended long before are not here */
	size_t n_threads;
};

/* In the order of the ends; processes without samples are left out. */
const struct ending *endings_build(
	struct arena *a, struct tables *t, const struct stacks *s, size_t *ret_n);

#endif
