/* SPDX-License-Identifier: MIT
 *
 * One look at a process that runs Python: all threads of all its interpreters, with names, states,
 * stacks and, when wanted, local variables; and its asyncio tasks. The process is neither stopped nor
 * written to, so different threads are seen at slightly different moments.
 *
 * A stack is shown whole when two readings of it agree. Of a thread that calls and returns all the time
 * no two do: then one image of it is taken as the sampler does (thread.h), up to five times until one
 * is whole; else the part on the root's side that stood still. */
#ifndef COLLECT_SAMPLES_DUMP_H
#define COLLECT_SAMPLES_DUMP_H

#include <stdbool.h>
#include <sys/types.h>

struct arena;
struct err;
struct snapshot;

struct py_dump_options {
	bool locals;
	const char *root; /* of the files of a core file; NULL: ours */
};

/* 0, or why not: no such process, no permission, not Python (and what else), still starting, a layout
 * that is not known. *ret is in the arena. */
int py_dump(struct arena *a, pid_t pid, const struct py_dump_options *o,
	const struct snapshot **ret, struct err *e);

/* The same of a program that is no more, by its core file: which ids its threads had is told, what they were
 * waiting for is not. */
int py_dump_core(struct arena *a, const char *path, const struct py_dump_options *o,
	const struct snapshot **ret, struct err *e);

#endif
