/* SPDX-License-Identifier: MIT
 * What `report` shows of a PyTorch trace: an overview with advice, its steps, operators and kernels. */
#ifndef CMD_REPORT_OPS_H
#define CMD_REPORT_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/command.h"

struct buf;
struct err;
struct json_writer;
struct torch;

struct report_ops {
	struct output output;
	bool overview, steps, ops, kernels, modules, memory, compile, streams; /* which pages */
	bool json, by_shape, top_level;
	bool places; /* a row below an operator's for each line that asked for it */
	const char *callers,
		*callees;    /* of these instead of a table of operators; NULL: not asked for */
	bool as_torch;       /* nothing but operators */
	unsigned n_stack;    /* rows by so many Python functions around the call; 0: not by them */
	const char *version; /* of torch, "2.13"; NULL: guessed */
	/* one of torch's keys; NULL: self CPU time, under torch the order of the calls */
	const char *sort;
	const char *phase; /* of a training, and nothing else of it; NULL: all */
	size_t limit;      /* SIZE_MAX: all */
	size_t tree_limit; /* of trees, likewise */
	/* JSON: the object that is open there gets the pages; NULL: printed */
	struct json_writer *into;
};

/* The operators that took most time themselves, for the end of a run. */
void report_ops_most(struct torch *t, const struct output *output, size_t limit, struct buf *out);

/* Prints them; `path` for what is said of the file. */
int report_ops(struct torch *whole, const char *path, const struct report_ops *o, struct err *e);

#endif
