/* SPDX-License-Identifier: MIT
 * Part of asyncio.h: who awaits whom. */
#ifndef CPYTHON_ASYNCIO_AWAITS_H
#define CPYTHON_ASYNCIO_AWAITS_H

struct arena;
struct asyncio;
struct asyncio_tasks;
struct map;

/* Fills awaiters of all tasks. index: address of a task → its index. */
void asyncio_find_awaiters(struct asyncio *a, struct arena *arena, const struct map *index,
	struct asyncio_tasks *tasks);

#endif
