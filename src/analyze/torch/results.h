/* SPDX-License-Identifier: MIT
 *
 * Operators of a PyTorch program, of a trace or of a recording, and what was made of them so far: each result is built when it is
 * first asked for. */
#ifndef ANALYZE_TORCH_H
#define ANALYZE_TORCH_H

#include <stdbool.h>

#include "analyze/op_events.h"
#include "base/arena.h"

struct op_advice;
struct op_allocations;
struct op_compile;
struct op_flows;
struct op_kernels;
struct op_modules;
struct op_slow;
struct op_steps;
struct op_streams;
struct op_timeline;
struct op_work;
struct ops;
struct ops_diff_source;
struct reader;
struct tables;

struct torch {
	struct arena arena;
	struct op_events x;
	const struct ops *ops[2]; /* by name; by name and shapes */
	const struct op_steps *steps;
	const struct op_kernels *kernels, *launches; /* by name; by launch */
	const struct op_advice *advice;
	const struct op_slow *slow;
	const struct op_streams *streams;
	const struct op_modules *modules;
	const struct op_allocations *allocations;
	const struct op_compile *compile;
	const struct op_flows *flows;
	const struct op_timeline *timelines[2]; /* without Python functions, with them */
	const struct ops_diff_source *side;     /* of a comparison with another one */
};

/* Of a trace that was read: takes the events. */
struct torch *torch_of_events(struct op_events *x);
/* Of a recording; NULL where it holds no operators. */
struct torch *torch_of_records(const struct reader *r, struct tables *t);
void torch_free(struct torch *t); /* NULL is fine */

const struct ops *torch_ops(struct torch *t, bool by_shape);
const struct op_steps *torch_steps(struct torch *t);
const struct op_kernels *torch_kernels(struct torch *t);
const struct op_kernels *torch_launches(struct torch *t);
const struct op_slow *torch_slow(struct torch *t);
const struct op_advice *torch_advice(struct torch *t);
const struct op_streams *torch_streams(struct torch *t);
const struct op_modules *torch_modules(struct torch *t);
const struct op_allocations *torch_allocations(struct torch *t);
const struct op_compile *torch_compile(struct torch *t);
const struct op_work *torch_work(struct torch *t); /* NULL: not known */
const struct ops_diff_source *torch_side(struct torch *t, const char *path);
const struct op_flows *torch_flows(struct torch *t);
const struct op_timeline *torch_timeline(struct torch *t, bool with_python);

#endif
