/* SPDX-License-Identifier: MIT
 *
 * Which asyncio task a thread runs, from the coroutines on its stack: each task's own coroutine is known
 * by its address, so that a look costs no further reading. The list of tasks is read anew when a stack
 * shows a coroutine that is not in it, and now and then; reading takes at most a thirtieth of the time. A
 * task that lives shorter than that may go without its name. */
#ifndef COLLECT_SAMPLES_TASKS_H
#define COLLECT_SAMPLES_TASKS_H

#include <stdint.h>

struct py_target;
struct py_tasks;
struct walk;

struct py_tasks *py_tasks_new(struct py_target *t); /* borrowed */
void py_tasks_free(struct py_tasks *k);

/* The thread states to look for tasks at, as they are now. */
void py_tasks_threads(
	struct py_tasks *k, uint64_t interp, const uint64_t *threads, uint64_t n_threads);

/* The name of the task this stack is of; NULL: of none, or not known. Valid until the next call. */
const char *py_tasks_find(struct py_tasks *k, const struct walk *w, uint64_t now_ns);

#endif
