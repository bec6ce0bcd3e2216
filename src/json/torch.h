/* SPDX-License-Identifier: MIT
 *
 * What the pages of a PyTorch trace show, as JSON: each a key and its value; `limit` is of rows. */
#ifndef JSON_TORCH_H
#define JSON_TORCH_H

#include <stdbool.h>
#include <stddef.h>

struct json_writer;
struct advice;
struct op_allocations;
struct op_unreleased;
struct op_compile;
struct op_events;
struct op_kernels;
struct op_modules;
struct op_neighbours;
struct op_ranks;
struct op_slow;
struct op_phases;
struct op_steps;
struct op_streams;
struct op_work;
struct ops;
struct ops_diff;

/* "overview", with the advice */
void op_overview_json(const struct op_events *x, const struct op_steps *steps,
	const struct op_phases *phases, const struct advice *advice, struct json_writer *w);
/* "work"; null where it is not known */
void op_work_json(const struct op_work *work, struct json_writer *w);
/* "step_times" and "steps" */
void op_steps_json(const struct op_steps *steps, size_t limit, struct json_writer *w);
/* "slow_steps" */
void op_slow_json(const struct op_slow *slow, const struct op_steps *steps, struct json_writer *w);
/* "operators" */
void ops_json(const struct ops *ops, bool top_level, size_t limit, struct json_writer *w);
/* What asks for an operator, and what it calls: "operator" and its sums, "callers" and "callees", each unless left out. */
enum { OP_NEIGHBOURS_CALLERS = 1, OP_NEIGHBOURS_CALLEES = 2 };
void op_neighbours_json(
	const struct op_neighbours *n, int which, size_t limit, struct json_writer *w);
/* "modules" */
void op_modules_json(const struct op_modules *modules, size_t limit, struct json_writer *w);
/* "compilation" */
void op_compile_json(const struct op_compile *x, size_t limit, struct json_writer *w);
/* "memory" */
void op_allocations_json(const struct op_allocations *x, size_t limit, struct json_writer *w);
void op_unreleased_json(const struct op_unreleased *x, size_t limit, struct json_writer *w);
/* "kernels" and "kernel_sums" */
void op_kernels_json(const struct op_kernels *kernels, size_t limit, struct json_writer *w);
/* "streams" and "launches" */
void op_streams_json(const struct op_streams *streams, struct json_writer *w);
/* "distributed" */
void op_ranks_json(const struct op_ranks *r, struct json_writer *w);
/* Both sides, and "operators" */
void ops_diff_json(const struct ops_diff *d, struct json_writer *w);

#endif
