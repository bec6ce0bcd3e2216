/* SPDX-License-Identifier: MIT
 * The ranks of a distributed job side by side, as tables and as JSON. */
#ifndef VIEW_TORCH_RANKS_H
#define VIEW_TORCH_RANKS_H

struct buf;
struct op_ranks;
struct ops_view;

void op_ranks_print(const struct op_ranks *r, const struct ops_view *v, struct buf *out);

#endif
