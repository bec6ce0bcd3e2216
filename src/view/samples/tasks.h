/* SPDX-License-Identifier: MIT
 * asyncio's tasks as a table and as JSON. */
#ifndef VIEW_TASKS_H
#define VIEW_TASKS_H

struct buf;
struct profile_view;
struct stacks;
struct tasks;

void tasks_print(const struct tasks *t, const struct stacks *s, const struct profile_view *v,
	struct buf *out);

#endif
