/* SPDX-License-Identifier: MIT
 *
 * asyncio's tasks in somebody's memory: which there are, their names and coroutines, and who awaits
 * whom.
 *
 *	3.14+        the interpreter publishes where (a section .AsyncioDebug of the module that holds
 *	             asyncio's C code, found by collect/samples/asyncio.h); tasks are linked to the thread they
 *	             run on, and know who awaits them
 *	3.8 … 3.13   the weak sets of asyncio.tasks list them. Where a C task keeps its fields is learned
 *	             from the first one: the only word that leads to a coroutine, with what it waits for
 *	             before and the name behind it. Who awaits is found from that and from callbacks:
 *	             await, gather, TaskGroup, wait, wait_for, shield. Other ways are not seen.
 *
 * Tasks written in Python are read by their attributes. */
#ifndef CPYTHON_ASYNCIO_H
#define CPYTHON_ASYNCIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython/stack.h"

struct arena;
struct buf;
struct objects;
struct py_layout;

enum { ASYNCIO_TASKS_MOST = 10000, ASYNCIO_STACK_MOST = 256 };

struct asyncio_offsets { /* the words of .AsyncioDebug, in their order */
	uint64_t task_size, task_name, task_awaited_by, task_is_task, task_awaited_by_is_set,
		task_coro, task_node;
	uint64_t interp_size, interp_tasks_head;
	uint64_t thread_size, thread_running_loop, thread_running_task, thread_tasks_head;
};

/* Whether these can be offsets in this interpreter. */
bool asyncio_offsets_check(const struct asyncio_offsets *a, const struct py_layout *l);

struct asyncio {                                 /* what is known of one process */
	struct objects *o;                       /* borrowed */
	const struct asyncio_offsets *published; /* borrowed; NULL before 3.14 */
	uint32_t coro; /* where C tasks have their coroutine; 0: not learned yet */
};

struct asyncio_task {
	uint64_t address;
	uint64_t coroutine; /* 0: it has ended */
	uint64_t waits_on;  /* a future or task; 0: nothing */
	const char *name;   /* in the arena */
	enum coroutine_state state;
	/* of the coroutine and what it awaits, leaf first; in the arena */
	struct stack_frame *frames;
	size_t n_frames;
	size_t *awaiters; /* indices of tasks; in the arena */
	size_t n_awaiters;
};

struct asyncio_tasks {
	struct asyncio_task *v; /* in the arena */
	size_t n;
};

/* All tasks of an interpreter that have not ended; threads: its thread states. */
void asyncio_read(struct asyncio *a, struct arena *arena, uint64_t interp, const uint64_t *threads,
	size_t n_threads, struct asyncio_tasks *ret);

/* The name of the task at this address: 0 or -errno when there is none. Appended to `out`. */
int asyncio_name(struct asyncio *a, uint64_t task, struct buf *out);

#endif
