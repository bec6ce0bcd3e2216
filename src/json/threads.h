/* SPDX-License-Identifier: MIT
 *
 * Threads, asyncio tasks, and the last stacks of processes that were killed, as JSON. */
#ifndef JSON_THREADS_H
#define JSON_THREADS_H

#include <stddef.h>

struct crash_stacks;
struct json_writer;
struct selection;
struct stacks;
struct tasks;

/* "threads" */
void threads_json(const struct stacks *s, struct json_writer *w);
/* What the threads chosen did, in seconds: ["gc", 0.2] …; none where it is not known. */
void states_json(struct selection *s, struct json_writer *w);
/* "idle": what was left out because it waited. */
void idle_json(const struct stacks *s, struct json_writer *w);
/* "imports": what is in their one row, and of which packages. */
void imports_json(const struct stacks *s, struct json_writer *w);
/* "tasks" and "outside_tasks_s" */
void tasks_json(const struct tasks *t, const struct stacks *s, struct json_writer *w);
/* "killed" */
void crashes_json(
	const struct crash_stacks *e, size_t n, const struct stacks *s, struct json_writer *w);

#endif
