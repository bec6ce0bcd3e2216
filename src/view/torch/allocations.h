/* SPDX-License-Identifier: MIT
 * The memory of a PyTorch trace: curves, what allocated it, the largest allocations; in the terminal and as JSON. */
#ifndef VIEW_TORCH_ALLOCATIONS_H
#define VIEW_TORCH_ALLOCATIONS_H

struct buf;
struct op_allocations;
struct ops_view;

void op_allocations_print(
	const struct op_allocations *x, const struct ops_view *v, struct buf *out);

#endif
