/* SPDX-License-Identifier: MIT
 *
 * The memory of a PyTorch trace (profile_memory=True): how much was allocated on each device when, by which operators, and the
 * largest allocations with how long they lived.
 *
 * What an allocation is for is not in a trace. enum op_held is an estimate by where it was made and when it was released, and views
 * mark it as one: in what autograd calls, in an optimizer's step, or in the rest (forward); a stretch lasts until one of the
 * others begins. Without anything backward nothing is said. */
#ifndef ANALYZE_TORCH_ALLOCATIONS_H
#define ANALYZE_TORCH_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/torch/level_curve.h"

struct arena;
struct op_events;

enum op_held {
	OP_HELD_BEFORE,     /* allocated before the trace began: parameters, and whatever else */
	OP_HELD_ACTIVATION, /* allocated forward, released backward */
	OP_HELD_GRADIENT,   /* allocated backward, outlives it */
	OP_HELD_OPTIMIZER,  /* allocated in an optimizer's step, outlives it */
	OP_HELD_TEMPORARY,  /* released in the stretch, or in the call, that it was allocated in */
	OP_HELD_OTHER,      /* inputs, results, what is held to the end */
	OP_N_HELD
};

extern const char *const op_held_names[OP_N_HELD];

struct op_allocator {     /* the memory of a device */
	const char *name; /* "CPU", "CUDA 0" */
	uint64_t n_allocations, n_releases, n_failures;
	uint64_t allocated_bytes, released_bytes; /* summed up */
	/* in use at the begin and at the end; on the CPU since profiling began */
	uint64_t first_bytes, last_bytes;
	uint64_t peak_bytes;
	double peak_s;                              /* since profiling began */
	const char *peak_operator;                  /* the innermost one then; "": none */
	const char *peak_step;                      /* "ProfilerStep#3"; "": none */
	uint64_t peak_reserved_bytes;               /* 0: not known */
	uint64_t at_peak_bytes[OP_N_HELD];          /* together peak_bytes */
	double curve[OP_CURVE], reserved[OP_CURVE]; /* bytes, the most of each stretch of time */
};

struct op_allocation {
	const char *device, *operator_name; /* "": none */
	uint64_t bytes;
	double at_s;
	double lived_s; /* NAN: held to the end */
	enum op_held held;
};

struct op_allocating { /* an operator, without those it called; aten::empty and the like count for their callers */
	const char *name;
	uint64_t n_allocations, n_releases, allocated_bytes, released_bytes;
};

struct op_allocations {
	const struct op_allocator *devices; /* in the order of their first use */
	size_t n_devices;
	const struct op_allocation *largest; /* all of them */
	size_t n_largest;
	const struct op_allocating *operators; /* by allocated bytes */
	size_t n_operators;
	int64_t begin_ns; /* of the trace, and of the curves */
	double seconds;   /* that the curves span */
	bool has_held;    /* categories are known */
};

const struct op_allocations *op_allocations_build(struct arena *a, struct op_events *x);

#endif
