/* SPDX-License-Identifier: MIT
 *
 * Where the steps of a training, or of any loop, begin and end in a PyTorch trace. What torch.profiler marked (ProfilerStep#N) is taken
 * as it is. Otherwise, the first of these that is there at least twice:
 *   - calls of an optimizer (Optimizer.step#…), of the one seen first: a step ends with its call. The first begins with what the
 *     second begins with, so that what the program did before its training is no part of it;
 *   - batches taken from a DataLoader: a step begins with each;
 *   - operators that come again in the same order: the shortest period of the names of those that no operator called, where seven of
 *     ten come again after it, at least three times. A step begins with the operator that comes once in it after the longest pauses. */
#ifndef ANALYZE_OP_PERIODS_H
#define ANALYZE_OP_PERIODS_H

#include <stdint.h>

#include "base/vec.h"

struct ops_tree;

enum op_steps_how {
	OP_STEPS_ALL, /* none were found: the trace is one step */
	OP_STEPS_MARKED,
	OP_STEPS_OPTIMIZER,
	OP_STEPS_DATALOADER,
	OP_STEPS_PERIOD,
};

/* "marked" … */
extern const char *const op_steps_how_names[];

struct op_period {
	uint32_t name; /* of the mark; OPS_NONE: it has none */
	int64_t start_ns, end_ns;
};

struct op_periods {
	VEC(struct op_period) v; /* in the order of time, none in another */
	enum op_steps_how how;
};

/* The tree is without Python functions. The caller ends it with vec_done(&to->v). */
void op_periods_find(const struct ops_tree *t, struct op_periods *to);

#endif
