/* SPDX-License-Identifier: MIT
 *
 * How a statement or command is measured by itself: how many processes, batches and runs. Comparing two is compare.h.
 *
 * A statement: fresh interpreters one after the other, each with another hash seed and memory layout; the first finds how
 * many loops make a batch long against the clock, all take as many batches of so many loops as fit. A command: runs until
 * there are enough of them and enough time has passed, as hyperfine does.
 *
 * Ctrl-C ends the measuring; what there is so far is the result. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/stats/series.h"
#include "bench/commandline.h"
#include "bench/statement.h"

struct arena;
struct buf;
struct err;
struct progress;

struct bench_plan {
	double time_s;      /* to spend on one thing, about */
	unsigned processes; /* of a statement; 0: 10, fewer (at least 3) when they are slow */
	uint64_t loops;     /* given by the user, as timeit -n; 0: find out */
	unsigned repeat;    /* given by the user, as timeit -r; 0: as many as fit */
	unsigned warmup;    /* runs of a command that do not count */
	unsigned runs;      /* of a command, exactly; 0: see below */
	unsigned least_runs, most_runs;
	uint64_t seed;
};

/* The defaults of `leadline bench`. */
struct bench_plan bench_plan_default(void);

/* name is borrowed by the result. progress may be NULL. */
int bench_statement(struct arena *a, const struct statement *s, const struct bench_plan *plan,
	const char *name, struct progress *progress, struct series *ret,
	struct statement_notes *notes, struct err *e);
/* Runs that failed are ERR_MEASURED unless the command says they may; ret holds those before, ret_stderr what it said. */
int bench_command(struct arena *a, const struct commandline *c, const struct bench_plan *plan,
	struct progress *progress, struct series *ret, struct buf *ret_stderr, struct err *e);

#endif
