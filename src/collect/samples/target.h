/* SPDX-License-Identifier: MIT
 *
 * A process that runs CPython, ready to be read: where its runtime is, how its memory is laid out
 * (proved by a walk, see cpython/layout.h), and the means to read it. The process is neither stopped
 * nor written to.
 *
 *	struct py_target t;
 *	int result = py_target_open(&t, pid, &e);
 *
 *	if (result == PY_TARGET_STARTING) …  (again in a moment; e says what is missing)
 *	if (result < 0) …                    (e says why not)
 *	mem_read(&t.mem, t.runtime + t.layout.runtime_interpreters_head, …);
 *	py_target_close(&t);
 *
 * It stands for one program of the process: after an exec it must be opened again. */
#ifndef COLLECT_SAMPLES_TARGET_H
#define COLLECT_SAMPLES_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpython/layout.h"
#include "cpython/mem.h"
#include "sys/remote.h"
#include "wire/py_layout.h"

struct core;
struct err;

/* py_target_open: it is a Python, or will load one, but has not come far enough to be verified. */
enum { PY_TARGET_STARTING = 1 };

struct py_target {
	pid_t pid;         /* 0: of a core file */
	struct core *core; /* borrowed; NULL: a live process */
	struct py_layout layout;
	uint64_t runtime; /* address of _PyRuntime */
	uint64_t none;    /* address of None, 0 when its symbol is not there */
	bool is_free_threaded;
	char version[48]; /* "3.13.0", "3.13.5 free-threaded" */
	char *executable; /* owned; path as /proc tells it */
	char *module;     /* owned; the file that holds the runtime: executable or library */
	struct layout_proof proof;
	struct remote remote;
	/* reads through `remote` above, where the struct must stay, or the core file */
	struct mem mem;
};

/* 0, PY_TARGET_STARTING, or an error: no such process, no permission (and which), not Python (and
 * what else), PyPy, 32-bit, a version we do not know, a layout that does not fit. After the last two
 * nothing is open; py_target_close is allowed all the same. */
int py_target_open(struct py_target *t, pid_t pid, struct err *e);
/* The same without waiting. A process between exec and main can be refused that will be Python in a moment:
 * ask again (py_target_open does so by itself, after 20 ms). */
int py_target_try(struct py_target *t, pid_t pid, struct err *e);
/* A child that was forked and runs what its parent does, without searching: false when it does not, or is gone.
 * interp: the address of an interpreter of the parent's. */
bool py_target_fork(
	struct py_target *t, const struct py_target *parent, pid_t pid, uint64_t interp);
/* A program that is no more. STARTING is an error here. The core must stay open. */
int py_target_open_core(struct py_target *t, struct core *core, struct err *e);
void py_target_close(struct py_target *t);

/* The layout alone, of a process whose interpreter may not have begun: nothing is followed, and nothing proved. version: what
 * Py_GetVersion says there, for releases that do not tell their layout themselves. */
int py_target_layout(pid_t pid, const char *version, struct py_layout *ret, struct err *e);

#endif
