/* SPDX-License-Identifier: MIT
 * The arithmetic of a trace's steps, in a few lines and as JSON. */
#ifndef VIEW_TORCH_WORK_H
#define VIEW_TORCH_WORK_H

struct buf;
struct op_work;
struct ops_view;

/* NULL: nothing. */
void op_work_print(const struct op_work *work, const struct ops_view *v, struct buf *out);

#endif
