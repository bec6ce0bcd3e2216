/* SPDX-License-Identifier: MIT
 * What `report` shows of a PyTorch trace: an overview with advice, its steps, operators and kernels. */
#ifndef CMD_REPORT_OPS_H
#define CMD_REPORT_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/command.h"

struct buf;
struct json_writer;
struct op_events;

struct report_ops {
	struct output output;
	bool overview, steps, ops, kernels, modules, memory, compile, streams; /* which pages */
	bool json, by_shape, top_level;
	bool as_torch;       /* nothing but operators */
	unsigned n_stack;    /* rows by so many Python functions around the call; 0: not by them */
	const char *version; /* of torch, "2.13"; NULL: guessed */
	const char *
		sort; /* one of torch's keys; NULL: self CPU time, under torch the order of the calls */
	size_t limit;      /* SIZE_MAX: all */
	size_t tree_limit; /* of trees, likewise */
	struct json_writer
		*into; /* JSON: the object that is open there gets the pages; NULL: printed */
};

/* Whether the file is a recording of operators and nothing else. */
bool report_ops_alone(const char *path);

/* The operators that took most time themselves, for the end of a run; nothing where the recording holds none. */
void report_ops_most(const char *path, const struct output *output, size_t limit, struct buf *out);

/* Returns the exit status. */
int report_ops(const struct command *self, const char *path, const struct report_ops *o);

/* The same of a trace that is loaded. */
int report_ops_loaded(
	struct op_events *x, const char *path, const struct report_ops *o, struct err *e);

/* The same, with the exit status in *ret_status, where the file is a trace of torch.profiler; false and nothing done
 * where it is anything else. */
bool report_ops_trace(
	const struct command *self, const char *path, const struct report_ops *o, int *ret_status);

#endif
