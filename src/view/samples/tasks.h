/* SPDX-License-Identifier: MIT
 * asyncio's tasks as a table and as JSON. */
#ifndef VIEW_SAMPLES_TASKS_H
#define VIEW_SAMPLES_TASKS_H

#include <stdbool.h>

struct buf;
struct profile_view;
struct stacks;
struct tasks;

/* By coroutine function, with the spread over their tasks; is_each: task by task. */
void tasks_print(const struct tasks *t, const struct stacks *s, const struct profile_view *v,
	bool is_each, struct buf *out);

#endif
