/* SPDX-License-Identifier: MIT
 *
 * A process the sampler looks at: its interpreter, its threads (of all its interpreters), their names
 * and ids. What is looked at, when, and what is recorded of it is sampler.c's. */
#ifndef COLLECT_SAMPLES_PROCESS_H
#define COLLECT_SAMPLES_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/samples/sleepers.h"
#include "collect/samples/state.h"
#include "collect/samples/target.h"
#include "collect/samples/thread.h"
#include "collect/samples/tid.h"
#include "wire/records.h"

struct py_codes;
struct py_probes;
struct py_tasks;

/* What a look left open until the threads are listed anew. */
enum doubt {
	DOUBT_NO,
	DOUBT_BARE,   /* it has no frames any more: it ended, or runs no Python code */
	DOUBT_FAILED, /* it could not be read: it ended, or the look is lost */
	DOUBT_GONE,   /* the kernel has no such thread any more */
};

struct sampled { /* a thread, and what of it is in the recording */
	struct py_thread image;
	uint32_t tid;
	bool is_counted; /* of the main interpreter, which numbers its thread states */
	bool is_new;     /* not looked at yet */
	bool is_bare;    /* it had no frames at the last look */
	bool is_dead;    /* its thread state is there, the thread is not */
	enum doubt doubt;
	uint64_t bound_ns;   /* it was not there before: the look before it was found … */
	bool is_bound_exact; /* … or the very moment it began */
	uint64_t seen_ns;    /* when it was last there */
	bool is_marked;      /* the recording knows that it came */
	struct py_state kernel;
	enum sleep { SLEEP_NO, SLEEP_SEEN, SLEEP_SURE } sleep;
	bool is_awake;              /* among py_process.sleepers.awake */
	struct rec_sample recorded; /* the last of its samples */
	char *task;                 /* owned; the asyncio task it ran then, NULL none */
	uint32_t task_segment;      /* where the recording tells that */
	uint64_t slept_ns;          /* when it was last found asleep, after that */
	/* The stack before, whose rows are used again as far as it is the same. */
	size_t n_last, depth;    /* depth: what there is room for */
	struct walk_frame *last; /* owned */
	uint32_t *rows;          /* stack rows of last[0 … i] as callers */
	uint64_t code_changes;   /* that its codes' rows are of (py_codes_changes) */
	uint32_t segment;
	uint32_t row; /* in the thread table */
	bool is_listed;
	size_t copy; /* 1 + where its words are among those copied to list threads; 0: not there */
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
	uint32_t head_at, number_at, collecting_at; /* in it */
	uint64_t holder; /* of the GIL, if it is locked; a thread state */
	int32_t locked;
};

struct py_link { /* a thread state, or a pointer that leads to one */
	uint64_t address;
	uint64_t words[4]; /* next, thread_id, native_thread_id, number; of a pointer the first */
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
	/* times a thread was left out because it had no id, with a libc that may keep none */
	uint32_t n_without_id;
	char interpreter[64];
	unsigned source; /* its number in sources.h */
	VEC(struct sampled *) threads;
	struct map by_address; /* thread state → struct sampled * */
	/* no longer listed; the caller takes them (py_process_free_thread) */
	VEC(struct sampled *) ended;
	VEC(struct py_link) links; /* what was read to list them */
	struct map *sched_files;   /* collector.h; may be NULL */
	struct sampled *bare; /* owned; its main thread when there is no interpreter, else NULL */
	bool is_ending;       /* there was an interpreter, and is none any more */
	uint64_t again_ns, again_wait_ns; /* then: when to see whether it runs another program */
	bool has_run;                     /* a stack of it was seen */
	bool has_begun;                   /* is told in the recording when it began */
	unsigned n_doubts;
	uint64_t looked_ns; /* the look before this one */
	/* The main interpreter's numbers of thread states: */
	bool has_numbers;
	unsigned n_number_faults;
	uint64_t next_number;  /* when they were listed */
	uint64_t first_number; /* of those that count: made from the first look on, or there then */
	uint64_t n_seen;       /* of them */
	uint64_t n_forked, n_forked_before; /* threads the kernel told of; before the first look */
	uint64_t begun_ns;                  /* its program; when it was attached to, that */
	bool was_running, has_execed;       /* see tree_process */
	uint64_t n_beyond, beyond_ns; /* threads beyond THREADS_MOST, and when to count them next */
	uint64_t cpu_ns, cpu_at_ns;   /* the kernel's clock of the process, and when it was read */
	uint64_t account_ns;          /* when its books are written next */
	uint64_t stop_ns;             /* when to ask next whether it was stopped */
	bool is_stopped;
	struct py_sleepers sleepers;
	uint64_t told_ns;       /* when samples of them were last recorded */
	uint32_t asked_segment; /* of the recording, when sleepers were last asked one by one */
	uint64_t threads_head;  /* when they were listed */
	uint64_t relist_ns;
	bool is_beginning;     /* a thread that had not begun was left out … */
	uint64_t beginning_ns; /* … first at this look */
	uint64_t gil;          /* address of the GIL's struct, 0 unknown */
	uint64_t interp;
	struct interpreter interpreter_now;
	uint64_t along_ns; /* when it was copied last */
	bool is_looked_at; /* one of its threads was, so interpreter_now is of now */
	uint32_t row, segment;
	struct py_view view;
	uint64_t n_lines_ended; /* py_cost.n_lines of threads that ended */
};

/* p->target is open, p->pid set, and p stays where it is. */
void py_process_begin(struct py_process *p, uint64_t now_ns);
void py_process_free(struct py_process *p); /* with its target */

/* Cache lines that its threads wrote again after a look, estimated (cost.h). */
uint64_t py_process_lines(struct py_process *p);

/* Of interpreter_now. */
uint64_t py_process_threads_head(const struct py_process *p);
bool py_process_is_collecting(const struct py_process *p);

/* Lists its threads anew, when it is time, or now. Those that are there no longer are moved to `ended`. */
void py_process_list(struct py_process *p, uint64_t now_ns);
void py_process_list_now(struct py_process *p, uint64_t now_ns);
/* Whether threads came or went since, by what the last look copied along. */
bool py_process_has_changed(const struct py_process *p);
/* How many thread states were made; RECORD_UNKNOWN where they have no numbers. */
uint64_t py_process_n_made(const struct py_process *p);
/* Whether the interpreter is being shut down. */
bool py_process_is_finalizing(const struct py_process *p);
/* Its main thread without any interpreter; p->bare from then on. */
struct sampled *py_process_bare(struct py_process *p);
void py_process_free_thread(struct sampled *t);

#endif
