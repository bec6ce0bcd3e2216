/* SPDX-License-Identifier: MIT
 *
 * What rules over PyTorch traces look at: the analyses of a trace, and a walk's worth of its tree. Private to them. */
#ifndef ADVISE_TORCH_FACTS_H
#define ADVISE_TORCH_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/torch/tree.h"
#include "base/map.h"

struct finding;
struct op_compile;
struct op_host;
struct op_kernels;
struct op_steps;
struct op_streams;
struct ops;

/* What a name is of, for rules: an event's names are looked at once. */
enum op_name_kind {
	OP_NAME_ASKS = 1 << 0,      /* an operator that brings a value of the device to the host */
	OP_NAME_WAITS = 1 << 1,     /* a call of the runtime that waits for the device */
	OP_NAME_ALLOCATES = 1 << 2, /* likewise, that allocates or releases memory */
	OP_NAME_LAYOUT = 1 << 3,    /* a kernel that changes the order of a tensor's dimensions */
	OP_NAME_POINTWISE = 1 << 4, /* a kernel that looks at each element by itself */
	OP_NAME_LOADS = 1 << 5, /* the profiler's: kernels are loaded when they are first used */
	OP_NAME_FILLS = 1 << 6, /* an operator that makes a tensor of nothing */
	OP_NAME_MOVES = 1 << 7, /* aten::to */
	OP_NAME_ZERO_GRAD = 1 << 8,
	OP_NAME_OPTIMIZER = 1 << 9,
	OP_NAME_FOREACH = 1 << 10, /* works on many tensors at once */
	OP_NAME_CONVOLUTION = 1 << 11,
	OP_NAME_BATCH_NORM = 1 << 12,
	OP_NAME_ADDS = 1 << 13,        /* aten::add_ */
	OP_NAME_PRODUCT = 1 << 14,     /* of matrices */
	OP_NAME_FROM_PINNED = 1 << 15, /* a copy to the device, of memory that is pinned */
	OP_NAME_TO_HOST = 1 << 16,     /* a copy from it */
	OP_NAME_TO_DEVICE = 1 << 17,
	OP_NAME_DDP = 1 << 18, /* DistributedDataParallel.forward */
	OP_NAME_ALL_REDUCE = 1 << 19,
	OP_NAME_ZEROES = 1 << 20,          /* aten::zero_ and the like */
	OP_NAME_BACKWARD = 1 << 21,        /* autograd runs a node */
	OP_NAME_SELECT = 1 << 22,          /* x[i], x[i:j] */
	OP_NAME_SELECT_BACKWARD = 1 << 23, /* autograd runs a node of those */
	OP_NAME_CLONES = 1 << 24,
	OP_NAME_ARRANGES = 1 << 25, /* a copy, unless memory is in that order already */
	OP_NAME_FUSES = 1 << 26,    /* an optimizer that has a fused form on the CPU */
	OP_NAME_LOADER = 1 << 27,   /* a DataLoader is asked for a batch */
};

struct op_lines {           /* where the time of a finding was asked for */
	struct map by_name; /* number of the place's name + 1 → ns */
	uint32_t most;      /* that with most of it; 0: none */
	int64_t most_ns, all_ns;
};

struct op_facts {
	struct arena *a;
	struct op_events *x;
	const struct op_steps *steps;
	const struct op_kernels *kernels;
	const struct ops *ops;
	const struct op_streams *streams; /* NULL: nothing ran on a device */
	const struct op_compile *compile;
	const struct op_host *host; /* NULL: nothing is known beside the operators */
	struct ops_tree tree;       /* without Python functions */
	uint32_t *kinds;            /* by name: enum op_name_kind */
	int64_t *device_ns;         /* by event: what it launched itself */
	int64_t *device_start;      /* of all that ran there, in order */
	size_t n_device;
	struct op_lines *lines; /* of the rule that is at work */
};

void op_facts_init(struct op_facts *f);
void op_facts_done(struct op_facts *f);

/* Which of the steps a time lies in + 1; 0: none. */
size_t op_step_of(const struct op_facts *f, int64_t t_ns);
static inline bool op_in_steps(const struct op_facts *f, int64_t t_ns)
{
	return op_step_of(f, t_ns) != 0;
}
/* More than that share of the steps. */
bool op_is_over(const struct op_facts *f, double seconds, double threshold);
/* "12.0 ms of 100 ms of steps (12.0 %)" */
const char *op_of_steps(const struct op_facts *f, double seconds);
/* The row of an operator whose name begins so; NULL. */
const struct ops_row *op_find_row(const struct op_facts *f, const char *begin);
/* The innermost caller of a node with such a name, itself included; OPS_NONE. */
uint32_t op_within(const struct op_facts *f, uint32_t node, uint32_t kinds);

/* Where an event was asked for, in what runs on the device the operator that launched it: its name's number + 1; 0: not known. */
uint32_t op_asked(const struct op_facts *f, uint32_t node);
/* So much of the finding's time was asked for there, or by this event; a rule without times counts. */
void op_add_asked(const struct op_facts *f, uint32_t asked, int64_t ns);
static inline void op_add_line(const struct op_facts *f, uint32_t node, int64_t ns)
{
	op_add_asked(f, op_asked(f, node), ns);
}
/* Each call of what begins so, by its length. */
void op_add_lines_of(const struct op_facts *f, const char *begin);
/* ", most of it from train.py(12): step", where one place has at least half of what was added; else "". */
const char *op_mostly_from(const struct op_facts *f);
/* Sets file and line where one place has at least half of what was added. */
void op_lines_tell(const struct op_facts *f, struct finding *to);

/* No operator called it. */
bool op_is_top(const struct op_facts *f, uint32_t node);

static inline uint32_t op_kinds(const struct op_facts *f, const struct op_event *e)
{
	return f->kinds[e->name];
}

#endif
