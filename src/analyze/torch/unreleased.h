/* SPDX-License-Identifier: MIT
 *
 * What a PyTorch program allocated within a trace and still held when it ended, by the operator that allocated it. Parameters'
 * gradients and the optimizer's state are among it; what grows was allocated in many steps. */
#ifndef ANALYZE_TORCH_UNRELEASED_H
#define ANALYZE_TORCH_UNRELEASED_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_allocations;
struct op_events;
struct op_steps;

struct op_unreleased_row {
	const char *operator_name, *device; /* operator "": none */
	uint64_t n_allocations, bytes;
	uint64_t n_steps;       /* in so many of them it was allocated */
	double first_s, last_s; /* when, since profiling began */
};

struct op_unreleased {
	const struct op_unreleased_row *v; /* by bytes */
	size_t n;
	uint64_t n_allocations, bytes; /* of all rows */
};

/* NULL: not known, because the trace does not tell allocations apart by their addresses. */
const struct op_unreleased *op_unreleased_build(struct arena *a, const struct op_allocations *x,
	const struct op_steps *steps, const struct op_events *of);

#endif
