/* SPDX-License-Identifier: MIT
 *
 * What a process does right now: its threads and asyncio tasks with their stacks. Plain data in an
 * arena; collect/samples/dump.h takes it, analyze/samples/snapshots.h compares several, view/samples/dump.h shows them.
 * All texts are the target's: any characters. */
#ifndef CPYTHON_SNAPSHOT_H
#define CPYTHON_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpython/linetable.h"
#include "cpython/locals.h"
#include "cpython/stack.h"

struct snapshot_local {
	const char *name, *value;
	enum local_kind kind;
};

struct snapshot_frame {
	uint64_t address; /* 0: not known */
	const char *function, *file;
	struct position at;
	const char *source; /* text of the line, without its newline; NULL: not known */
	const struct snapshot_local *locals;
	size_t n_locals;
};

struct snapshot_stack {
	enum stack_state state;
	const struct snapshot_frame *frames; /* leaf first */
	size_t n;
};

struct snapshot_thread {
	int64_t interpreter; /* id; 0: the main one */
	pid_t tid;           /* 0: not known */
	uint64_t ident;      /* threading.get_ident() */
	const char *name;    /* NULL: none was given */
	char run_state;      /* letter of /proc/TID/stat; 0: not known */
	bool holds_gil, waits_for_gil, is_collecting;
	struct snapshot_stack stack;
	size_t task; /* that runs on it; SIZE_MAX: none */
};

struct snapshot_task {
	uint64_t address;
	const char *name; /* "" when it has none */
	enum coroutine_state state;
	struct snapshot_stack stack; /* of the coroutine and what it awaits */
	const char *waits_for;       /* type of the last thing awaited, "" when not known */
	const size_t *awaiters;      /* indices of the tasks that wait for it */
	size_t n_awaiters;
};

struct snapshot {
	pid_t pid;
	const char *command;     /* quoted for a shell */
	const char *interpreter; /* "CPython 3.13.0" */
	const char *rank;        /* "" when there is none */
	const char *core;        /* name of the core file; NULL: it runs */
	int signal;              /* that killed it, where that is known; else 0 */
	const struct snapshot_thread *threads;
	size_t n_threads;
	const struct snapshot_task *tasks;
	size_t n_tasks;
	size_t n_interpreters;
};

#endif
