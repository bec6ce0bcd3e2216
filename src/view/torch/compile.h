/* SPDX-License-Identifier: MIT
 * What torch.compile did, in the terminal and as JSON. */
#ifndef VIEW_TORCH_COMPILE_H
#define VIEW_TORCH_COMPILE_H

struct buf;
struct op_compile;
struct ops_view;

void op_compile_print(const struct op_compile *x, const struct ops_view *v, struct buf *out);

#endif
