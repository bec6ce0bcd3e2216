/* SPDX-License-Identifier: MIT
 *
 * Live: what a recording that is being written says of now and since a start, brought up to date with
 * what was appended, never read twice. Pure like its neighbours: time is that of the records.
 *
 *	struct live *l = live_new(tables);
 *	live_refresh(l, &e);                        takes in what was written since
 *	const struct live_view *v = live_build(l, &(struct live_select){ .window_s = 5 });
 *
 * Samples weigh what stacks.h says: measured time, half of it on each side. Seconds, not samples, are
 * what rows hold; a share is of wall time, so that one thread at work all the time is 1 and several
 * threads add up to more. What was lost or not seen is in no row and so makes no other row larger.
 *
 * Memory grows with distinct places and threads, not with time. */
#ifndef ANALYZE_SAMPLES_LIVE_H
#define ANALYZE_SAMPLES_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code/frames.h"
#include "analyze/samples/stacks.h"

struct err;
struct live;
struct tables;

enum {
	LIVE_SLICE_MS = 250,
	LIVE_HISTORY = 240, /* slices that are kept: the longest window, and the graphs */
};

struct live_select {
	enum stacks_state state;
	uint32_t pid, tid; /* 0: all threads */
	double window_s;   /* "now": at most a minute */
};

struct live_cost {
	double self_s, total_s;
};

struct live_row { /* a function, or a line of one */
	const char *name, *file;
	int line; /* the function's first; −1: none */
	bool is_synthetic;
	struct live_cost now, since;
};

struct live_thread {
	uint32_t pid, tid;
	const char *name;
	char state;                               /* letter of /proc; 0: not known */
	bool on_cpu, holds_gil, wants_gil, in_gc; /* in its last sample */
	double cpu, gil; /* shares of the window, of one core; cpu UNITS_UNKNOWN without records */
	bool is_seen;    /* sampled, or at work, in the window */
	bool has_stack;  /* at: the innermost frame seen last */
	struct stack_frame at;
};

struct live_view {
	/* of the recording */
	const char *command, *interpreter; /* "" until known */
	uint32_t pid;                      /* of the program; 0 until known */
	size_t n_interpreters;
	double elapsed_s; /* from the first record to the last */
	bool has_ended;   /* the program; */
	int status;       /* then as wait(2), −1: not known */
	uint64_t n_samples, n_lost, n_shortened;
	double rss_bytes, n_threads, n_processes; /* now; UNITS_UNKNOWN until seen */
	/* of the window */
	double window_s;     /* that was covered */
	double cpu, gil;     /* cores in use; share of the time the GIL was held */
	double rate_hz;      /* looks */
	double selected_now; /* seconds of samples that count, over all threads */
	/* since the start or reset */
	double since_s, selected_since;
	/* one value per slice, oldest first */
	const double *cpu_history, *rss_history;
	size_t n_history;
	/* all rows ever seen, in no order: those without time in both have no place in a table */
	const struct live_row *functions, *lines;
	size_t n_functions, n_lines;
	const struct live_thread *threads; /* in order of appearance */
	size_t n_live_threads;
};

struct live *live_new(struct tables *t); /* borrows the tables and their reader */
void live_free(struct live *l);

int live_refresh(struct live *l, struct err *e);
/* "Since" begins anew. */
void live_reset(struct live *l);
/* Valid until the next call; never NULL. */
const struct live_view *live_build(struct live *l, const struct live_select *s);

#endif
