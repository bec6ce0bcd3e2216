/* SPDX-License-Identifier: MIT
 *
 * Where the steps of a training, or of any loop, begin and end in a PyTorch trace. Steps are of one process: of the one that makes
 * most of them, the lowest pid of several. The first of these that is there:
 *   - what torch.profiler marked (ProfilerStep#N), and what leadline.torch.step() told;
 *   - calls of optimizers (Optimizer.step#…), twice at least: a step ends with a call, or with the last of several that come in the
 *     same order again and again. iterations.h tells where it begins;
 *   - batches taken from a DataLoader, likewise: a step begins with each;
 *   - operators that come again in the same order: the shortest period of the names of those that no operator called, where seven of
 *     ten come again after it, at least three times. A step begins with the operator that comes once in it after the longest pauses.
 *
 * What the program did before its first step is no part of it, a step that was cut off is none, and what lies between steps without
 * being of them (validation, saving) is told apart. */
#ifndef ANALYZE_TORCH_PERIODS_H
#define ANALYZE_TORCH_PERIODS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct ops_tree;

enum op_steps_how {
	OP_STEPS_ALL, /* none were found: the trace is one step */
	OP_STEPS_MARKED,
	OP_STEPS_OPTIMIZER,
	OP_STEPS_DATALOADER,
	OP_STEPS_PERIOD,
	OP_STEPS_TOLD, /* by leadline.torch.step() */
};

/* "marked" … */
extern const char *const op_steps_how_names[];

struct op_period {
	uint32_t name; /* of the mark; OPS_NONE: it has none */
	int64_t start_ns, end_ns;
};

struct op_validation { /* forward passes without a backward one, between steps or after them */
	int64_t start_ns, end_ns;
	uint32_t n_passes; /* about as many as forward passes of a step would make; 0: not known */
};

struct op_periods {
	VEC(struct op_period) v; /* in the order of time, none in another */
	enum op_steps_how how;
	VEC(struct op_validation) validations; /* likewise; in none of the steps */
	uint32_t process;                      /* whose steps, in op_processes; of ALL: 0 */
	unsigned n_processes;                  /* that make steps so */
	unsigned n_calls;                      /* of optimizers in a step; 0: not known */
	unsigned n_micro; /* batches whose gradients a step adds up; 0: not known */
	bool is_training; /* with backward passes, or an optimizer */
};

/* The tree is without Python functions. */
void op_periods_find(const struct ops_tree *t, struct op_periods *to);
void op_periods_done(struct op_periods *p);

#endif
