/* SPDX-License-Identifier: MIT
 * What asks for an operator of PyTorch, or what it calls. */
#ifndef VIEW_TORCH_NEIGHBOURS_H
#define VIEW_TORCH_NEIGHBOURS_H

#include <stdbool.h>

struct buf;
struct op_neighbours;
struct ops_view;

void op_neighbours_print(
	const struct op_neighbours *n, bool is_callers, const struct ops_view *v, struct buf *out);

#endif
