/* SPDX-License-Identifier: MIT
 * What was collected of PyTorch's operators, in lines of text. Nothing where nobody asked for them. */
#ifndef VIEW_TORCH_COLLECTED_H
#define VIEW_TORCH_COLLECTED_H

struct buf;
struct op_collected;

/* How many there are and how to see them, or why there are none. */
void op_collected_print(const struct op_collected *c, const char *path, struct buf *out);
/* What was not seen of them. */
void op_collected_print_unseen(const struct op_collected *c, struct buf *out);

#endif
