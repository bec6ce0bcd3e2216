/* SPDX-License-Identifier: MIT
 *
 * The collectives of one rank in its trace: kernels that communicate (NCCL's), or where there are none what a backend marks on the
 * host ("gloo:all_reduce"). Their group, number and size are taken from the arguments, on the kernel or on the operator
 * that asked for it. */
#ifndef ANALYZE_TORCH_COLLECTIVES_H
#define ANALYZE_TORCH_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_event;
struct op_events;

struct op_collective_call {
	/* "all_reduce", "AllGather": as the trace has it, without the backend's words */
	const char *name;
	const char *group; /* its ranks or its name; "" where the trace does not say */
	int64_t number;    /* the group's own count of collectives; -1: not known */
	uint64_t bytes;    /* input of this rank; 0: not known */
	int64_t start_ns, duration_ns;
};

struct op_collective_calls {
	const struct op_collective_call *v; /* in the order of time */
	size_t n;
	bool on_device;
};

/* x was read with keeps_all. */
struct op_collective_calls op_collectives_find(struct arena *a, const struct op_events *x);

/* Whether a span is communication, given where this trace has it. */
bool op_collectives_is_one(const struct op_events *x, const struct op_event *e, bool on_device);

#endif
