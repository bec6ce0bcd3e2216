/* SPDX-License-Identifier: MIT
 *
 * A Python statement or function, timed in a fresh interpreter by worker.py. */
#ifndef BENCH_STATEMENT_H
#define BENCH_STATEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/stats/series.h"
#include "bench/child.h"

struct arena;
struct err;

struct statement {
	const char *python; /* executable */
	/* words in front of it, ended by NULL: what records it; NULL: none */
	const char *const *before;
	const char *stmt, *setup; /* texts; setup may be "" */
	const char *function;     /* "module:name" instead of both, or NULL */
	const char *arguments;    /* what it is called with; NULL: nothing */
	bool gc;                  /* leave garbage collection on */
	bool process_time;        /* CPU time instead of time that passes */
	bool sync_torch;          /* wait for the GPU at the begin and end of each batch */
	unsigned threads;      /* that run it at the same time; 0: one, and no thread is started */
	bool wants_result;     /* tell it in the notes */
	bool exact;            /* timeit's own procedure: set-up before each batch, no first call */
	enum child_stream out; /* where what it prints goes */
	int cpu;               /* to run on; -1: any */
};

struct statement_plan {
	uint64_t loops;                  /* of a batch; 0: find out */
	unsigned batches, least_batches; /* of the process; fewer when the budget is spent */
	double batch_s;                  /* a batch should last so long */
	double budget_s;
};

/* What a process tells beside times; all texts may be "". */
struct statement_notes {
	char python[64]; /* "cpython 3.11.2" */
	bool has_gil;    /* one thread at a time runs Python */
	char kind[32]; /* the result holds work still to be done: "generator", "CUDA tensor" … */
	/* of an expression: its repr, or a digest where that is long; "" where it has none */
	char result[256];
	char rebinds[96]; /* names of the set-up it binds anew from themselves: "x, y" */
	char drift[128];  /* what became of them: "x had become inf or nan" */
};

/* One process. The values are in the arena. What the user's code printed when it failed has gone to stderr, and the error
 * is ERR_MEASURED. The seed gives hash seed and the size of the environment, so equal seeds give equal layouts. */
int statement_measure(const struct statement *s, const struct statement_plan *plan, uint64_t seed,
	struct arena *a, struct series_process *ret, struct statement_notes *notes, struct err *e);

#endif
