/* SPDX-License-Identifier: MIT
 * The modules of a model as a tree, in the terminal and as JSON. */
#ifndef VIEW_TORCH_MODULES_H
#define VIEW_TORCH_MODULES_H

struct buf;
struct op_modules;
struct ops_view;

void op_modules_print(const struct op_modules *modules, const struct ops_view *v, struct buf *out);

#endif
