/* SPDX-License-Identifier: MIT
 * What ran on the device in a PyTorch trace, by name, or by name, operator and how it was launched: kernels, copies and fills, the one
 * that took longest first. */
#ifndef ANALYZE_TORCH_KERNELS_H
#define ANALYZE_TORCH_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;
struct op_launch;

struct op_kernel_row {
	const char *name;
	const char *owner; /* the operator that launched most of it; "": not known */
	uint64_t n_times, bytes;
	double seconds, min_s, max_s;
	double blocks_per_sm, occupancy; /* by time; occupancy a share; NAN: not known */
	bool is_kernel, uses_tensor_cores;
	const struct op_launch *launch; /* by launch only; NULL: not known */
};

struct op_kernels {
	const struct op_kernel_row *v;
	size_t n;
	double seconds; /* all of them */
	/* Of kernels alone. */
	double kernel_s, tensor_core_s;
	double blocks_per_sm, occupancy; /* by time; NAN: not known */
};

const struct op_kernels *op_kernels_build(struct arena *a, struct op_events *x);
/* A row for each kernel, operator and launch (grid, block, registers, shared memory). */
const struct op_kernels *op_kernels_by_launch(struct arena *a, struct op_events *x);

#endif
