/* SPDX-License-Identifier: MIT
 * Parts of view/samples/dump: frames and stacks, and the asyncio tasks as a tree under those who await them. */
#ifndef VIEW_SAMPLES_DUMP_TASKS_H
#define VIEW_SAMPLES_DUMP_TASKS_H

struct buf;
struct dump_view;
struct snapshot;
struct snapshot_frame;
struct snapshot_stack;

/* indent: blanks before each line, at most 100. */
void dump_print_frame(const struct snapshot_frame *f, const char *indent, const struct dump_view *v,
	struct buf *out);
void dump_print_stack(const struct snapshot_stack *st, const char *indent,
	const struct dump_view *v, struct buf *out);
void dump_print_tasks(const struct snapshot *p, const struct dump_view *v, struct buf *out);

#endif
