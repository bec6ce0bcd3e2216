/* SPDX-License-Identifier: MIT
 * The memory of a PyTorch trace: curves, what allocated it, the largest allocations; in the terminal and as JSON. */
#ifndef VIEW_OP_ALLOCATIONS_H
#define VIEW_OP_ALLOCATIONS_H

struct buf;
struct json_writer;
struct op_allocations;
struct ops_view;

void op_allocations_print(
	const struct op_allocations *x, const struct ops_view *v, struct buf *out);
/* A key and its value in an object that is open. */
void op_allocations_json(
	const struct op_allocations *x, const struct ops_view *v, struct json_writer *w);

#endif
