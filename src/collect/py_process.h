/* SPDX-License-Identifier: MIT
 *
 * A process the sampler looks at: its interpreter, its threads (of all its interpreters), their names
 * and ids. What is looked at, when, and what is recorded of it is py_sample.c's. */
#ifndef COLLECT_PY_PROCESS_H
#define COLLECT_PY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "collect/py_sleepers.h"
#include "collect/py_state.h"
#include "collect/py_target.h"
#include "collect/py_thread.h"
#include "collect/py_tid.h"
#include "wire/records.h"

struct py_codes;
struct py_probes;
struct py_tasks;

struct sampled { /* a thread, and what of it is in the recording */
	struct py_thread image;
	uint32_t tid;
	struct py_state kernel;
	enum sleep { SLEEP_NO, SLEEP_SEEN, SLEEP_SURE } sleep;
	bool is_awake;              /* among py_process.sleepers.awake */
	struct rec_sample recorded; /* the last of its samples */
	char *task;                 /* owned; the asyncio task it ran then, NULL none */
	uint32_t task_segment;      /* where the recording tells that */
	uint64_t slept_ns;          /* when it was last found asleep, after that */
	/* The stack before, whose rows are used again as far as it is the same. */
	size_t n_last;
	struct walk_frame *last; /* owned, WALK_DEPTH */
	uint32_t *rows;          /* stack rows of last[0 … i] as callers */
	uint64_t code_changes;   /* that its codes' rows are of (py_codes_changes) */
	uint32_t segment;
	uint32_t row; /* in the thread table */
	bool is_listed, has_failed;
	bool is_renamed;                /* its row must be written again */
	uint64_t ident;                 /* threading.get_ident() */
	char *name;                     /* owned; NULL until the program has named it */
	uint64_t name_ns, name_wait_ns; /* when to look for it next, and how long then to wait */
};

enum { PY_INTERPRETER_PART = 1024 };

struct interpreter { /* as it was at the last look at one of its threads */
	/* Of its state, from the list of threads to the collector, if they are not too far apart: each place that is
	 * copied by itself costs 0.35 µs. */
	unsigned char part[PY_INTERPRETER_PART];
	uint32_t collecting_at; /* in it; the head of the list is first */
	uint64_t holder;        /* of the GIL, if it is locked; a thread state */
	int32_t locked;
};

struct py_link { /* a thread state, or a pointer that leads to one */
	uint64_t address;
	uint64_t words[3]; /* next, thread_id, native_thread_id; of a pointer the first */
	bool is_thread;
};

struct py_process {
	pid_t pid;
	uint64_t serial, start_ns;
	pid_t parent;
	struct py_target target;
	struct py_codes *codes;
	struct py_tasks *tasks;
	struct py_probes *probes;
	struct py_tids tids;
	uint32_t n_without_id; /* times a thread was left out because it had none yet */
	char interpreter[64];
	VEC(struct sampled *) threads;
	VEC(struct py_link) links; /* what was read to list them */
	struct py_sleepers sleepers;
	uint64_t told_ns;       /* when samples of them were last recorded */
	uint32_t asked_segment; /* of the recording, when sleepers were last asked one by one */
	uint64_t threads_head;  /* when they were listed */
	uint64_t relist_ns;
	bool is_beginning; /* a thread that had not begun was left out */
	uint64_t gil;      /* address of the GIL's struct, 0 unknown */
	uint64_t interp;
	struct interpreter interpreter_now;
	uint64_t along_ns; /* when it was copied last */
	bool is_looked_at; /* one of its threads was, so interpreter_now is of now */
	uint32_t row, segment;
	struct py_view view;
	uint64_t n_lines_ended; /* py_cost.n_lines of threads that ended */
	uint64_t n_failed;      /* looks that failed at threads that are still there */
};

/* p->target is open, p->pid set, and p stays where it is. */
void py_process_begin(struct py_process *p, uint64_t now_ns);
void py_process_free(struct py_process *p); /* with its target */

/* Cache lines that its threads wrote again after a look, estimated (py_cost.h). */
uint64_t py_process_lines(struct py_process *p);

/* Of interpreter_now. */
uint64_t py_process_threads_head(const struct py_process *p);
bool py_process_is_collecting(const struct py_process *p);

/* Lists its threads anew, when it is time. */
void py_process_list(struct py_process *p, uint64_t now_ns);

#endif
