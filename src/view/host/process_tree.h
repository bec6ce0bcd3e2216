/* SPDX-License-Identifier: MIT
 * One line per process of a run, children under their parents (`time --tree`). */
#ifndef VIEW_HOST_PROCESS_TREE_H
#define VIEW_HOST_PROCESS_TREE_H

struct buf;
struct usage;
struct usage_view;

void process_tree_print(const struct usage *u, const struct usage_view *v, struct buf *out);

#endif
