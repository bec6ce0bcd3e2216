/* SPDX-License-Identifier: MIT
 * What changed from one PyTorch trace to another, as a table and as JSON. */
#ifndef VIEW_TORCH_DIFF_H
#define VIEW_TORCH_DIFF_H

struct buf;
struct ops_diff;
struct ops_view;

void ops_diff_print(const struct ops_diff *d, const struct ops_view *v, struct buf *out);

#endif
