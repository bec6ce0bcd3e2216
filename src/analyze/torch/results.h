/* SPDX-License-Identifier: MIT
 *
 * Operators of a PyTorch program, of a trace or of a recording, and what was made of them so far: each result is built when it is
 * first asked for. */
#ifndef ANALYZE_TORCH_RESULTS_H
#define ANALYZE_TORCH_RESULTS_H

#include <stdbool.h>

#include "analyze/torch/events.h"
#include "base/arena.h"

struct advice;
struct op_allocations;
struct op_compile;
struct op_flows;
struct op_kernels;
struct op_modules;
struct op_phases;
struct op_slow;
struct op_steps;
struct stretch;
struct op_streams;
struct op_timeline;
struct op_unreleased;
struct op_work;
struct ops;
struct err;
struct ops_diff_source;
struct reader;
struct tables;

struct torch;

struct torch_piece { /* what op_subset_take took of it */
	char of[32];
	struct torch *torch;
};

struct torch {
	struct arena arena;
	struct op_events x;
	struct tables *tables;    /* of a recording, whose they are; NULL: a trace */
	const struct ops *ops[2]; /* by name; by name and shapes */
	const struct op_steps *steps;
	const struct op_kernels *kernels, *launches; /* by name; by launch */
	const struct advice *advice;                 /* torch_advice of src/advise makes it */
	const struct op_slow *slow;
	const struct op_streams *streams;
	const struct op_modules *modules;
	const struct op_allocations *allocations;
	const struct op_unreleased *unreleased;
	const struct op_compile *compile;
	const struct op_flows *flows;
	const struct op_timeline *timelines[2]; /* without Python functions, with them */
	const struct ops_diff_source *side;     /* of a comparison with another one */
	const struct op_phases *phases;
	bool has_phases; /* they were looked for */
	/* Where several processes make steps: of the one whose steps are shown. Its figures are made of this alone. */
	struct torch *lead;
	VEC(struct torch_piece) parts; /* likewise made when first asked for; owned */
};

/* Of a trace that was read: takes the events. */
struct torch *torch_of_events(struct op_events *x);
/* Of a recording; NULL where it holds no operators. */
struct torch *torch_of_records(const struct reader *r, struct tables *t);
void torch_free(struct torch *t); /* NULL is fine */

/* What figures of steps are made of: the process whose steps are shown, where several make steps; else all. */
struct torch *torch_lead(struct torch *t);
const struct ops *torch_ops(struct torch *t, bool by_shape);
const struct op_steps *torch_steps(struct torch *t);
const struct op_kernels *torch_kernels(struct torch *t);
const struct op_kernels *torch_launches(struct torch *t);
const struct op_slow *torch_slow(struct torch *t);
const struct op_streams *torch_streams(struct torch *t);
const struct op_modules *torch_modules(struct torch *t);
const struct op_allocations *torch_allocations(struct torch *t);
const struct op_unreleased *torch_unreleased(struct torch *t); /* NULL: not known */
const struct op_compile *torch_compile(struct torch *t);
const struct op_work *torch_work(struct torch *t);     /* NULL: not known */
const struct op_phases *torch_phases(struct torch *t); /* NULL: not known */
/* Of one process, as its tracks have it: a pid. */
struct torch *torch_of_process(struct torch *t, const char *process);
/* Of one phase (phases.h), by the clock of the process whose steps are shown. ERR_UNSUPPORTED: no phases are known; ERR_USAGE:
 * there is none of that name, or it took no time. */
int torch_in_phase(struct torch *t, const char *phase, struct torch **ret, struct err *e);
/* The stretches of such a phase, in the arena. */
int torch_phase_find(struct torch *t, const char *phase, struct arena *a,
	const struct stretch **ret, size_t *ret_n, struct err *e);
const struct ops_diff_source *torch_side(struct torch *t, const char *path);
const struct op_flows *torch_flows(struct torch *t);
const struct op_timeline *torch_timeline(struct torch *t, bool with_python);

#endif
