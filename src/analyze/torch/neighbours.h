/* SPDX-License-Identifier: MIT
 *
 * Operators around an operator: what asks for it, and what it calls, each with the part of its time that belongs to it. A call within a
 * call of the same operator is a part of that one. So callers add up to the operator's total, and so do callees with its own time. */
#ifndef ANALYZE_TORCH_NEIGHBOURS_H
#define ANALYZE_TORCH_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct op_events;
struct ops;

struct op_neighbour {
	const char *name; /* ""; callers: no other operator, but Python; callees: its own time */
	/* of the operator by this one, or of this one by the operator; 0 of its own time */
	uint64_t n_calls;
	double cpu_us;
};

struct op_neighbours {
	const char *name;
	uint64_t n_calls;           /* without those within calls of the same operator */
	double cpu_us, self_cpu_us; /* on the CPU */
	const struct op_neighbour *callers, *callees; /* by time, falling */
	size_t n_callers, n_callees;
};

/* Of the operator or region of that name; n_calls is 0 where there is none. */
const struct op_neighbours *op_neighbours_build(
	struct arena *a, struct op_events *x, const char *name);

/* Operators that `text` names: by their whole name, else without what stands before "::", else as a pattern. *ret holds names, in the
 * order of the rows. ERR_USAGE when it matches nothing. */
int op_neighbours_names(struct arena *a, const struct ops *ops, const char *text,
	const char *const **ret, size_t *ret_n, struct err *e);

#endif
