/* SPDX-License-Identifier: MIT
 *
 * Threads, asyncio tasks, and the last stacks of processes that were killed, as JSON. */
#ifndef JSON_THREADS_H
#define JSON_THREADS_H

#include <stddef.h>

struct ending;
struct json_writer;
struct stacks;
struct tasks;

/* "threads" */
void threads_json(const struct stacks *s, struct json_writer *w);
/* "idle": what was left out because it waited. */
void idle_json(const struct stacks *s, struct json_writer *w);
/* "tasks" and "outside_tasks_s" */
void tasks_json(const struct tasks *t, const struct stacks *s, struct json_writer *w);
/* "killed" */
void endings_json(const struct ending *e, size_t n, const struct stacks *s, struct json_writer *w);

#endif
