/* SPDX-License-Identifier: MIT
 * The ranks of a distributed job side by side, as tables and as JSON. */
#ifndef VIEW_OP_RANKS_H
#define VIEW_OP_RANKS_H

struct buf;
struct json_writer;
struct op_ranks;
struct ops_view;

void op_ranks_print(const struct op_ranks *r, const struct ops_view *v, struct buf *out);
/* A key and its value in an object that is open. */
void op_ranks_json(const struct op_ranks *r, struct json_writer *w);

#endif
