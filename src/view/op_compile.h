/* SPDX-License-Identifier: MIT
 * What torch.compile did, in the terminal and as JSON. */
#ifndef VIEW_OP_COMPILE_H
#define VIEW_OP_COMPILE_H

struct buf;
struct json_writer;
struct op_compile;
struct ops_view;

void op_compile_print(const struct op_compile *x, const struct ops_view *v, struct buf *out);
/* A key and its value in an object that is open. */
void op_compile_json(const struct op_compile *x, const struct ops_view *v, struct json_writer *w);

#endif
