/* SPDX-License-Identifier: MIT
 * See tasks.h. */
#include "collect/samples/tasks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/samples/asyncio.h"
#include "collect/samples/target.h"
#include "cpython/asyncio.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "cpython/walk.h"
#include "wire/py_layout.h"
#include "base/banned.h"

/* between two readings */
static const uint64_t READ_LEAST_NS = 20000000, READ_MOST_NS = 1000000000;
enum { READ_SHARE = 30 };

struct py_tasks {
	struct py_target *target;
	struct asyncio_offsets offsets;
	bool has_offsets;
	uint32_t coro; /* learned, see struct asyncio */
	uint64_t interp;
	VEC(uint64_t) threads;
	struct arena names; /* of the last reading */
	VEC(const char *) tasks;
	struct map index; /* key_of() its coroutine → index in tasks */
	uint64_t next_ns, wait_ns;
};

struct py_tasks *py_tasks_new(struct py_target *t)
{
	struct py_tasks *k = xcalloc(1, sizeof *k);

	k->target = t;
	return k;
}

void py_tasks_free(struct py_tasks *k)
{
	if (!k)
		return;
	vec_done(&k->threads);
	vec_done(&k->tasks);
	map_done(&k->index);
	arena_done(&k->names);
	free(k);
}

void py_tasks_threads(
	struct py_tasks *k, uint64_t interp, const uint64_t *threads, uint64_t n_threads)
{
	k->interp = interp;
	vec_clear(&k->threads);
	for (uint64_t i = 0; i < n_threads; i++)
		vec_push(&k->threads, threads[i]);
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* By what a stack shows of a coroutine: its address, or (3.8 … 3.10) its frame's. 0: nothing. */
static uint64_t key_of(const struct py_tasks *k, uint64_t coroutine)
{
	const struct py_layout *l = &k->target->layout;
	uint64_t frame;

	if (!coroutine || !(l->flags & PY_HEAP_FRAMES))
		return coroutine;
	return mem_read_u64(&k->target->mem, coroutine + l->gen_frame, &frame) == 0 ? frame : 0;
}

static void read_tasks(struct py_tasks *k)
{
	struct asyncio_tasks found = { 0 };
	struct asyncio a = { .coro = k->coro };
	struct objects o;

	if (k->target->layout.minor >= 14 && !k->has_offsets)
		k->has_offsets = py_asyncio_find(k->target, &k->offsets);
	map_clear(&k->index);
	vec_clear(&k->tasks);
	arena_done(&k->names);
	k->names = (struct arena)ARENA_INIT;
	objects_init(&o, &k->target->mem, &k->target->layout);
	a.o = &o;
	a.published = k->has_offsets ? &k->offsets : NULL;
	asyncio_read(&a, &k->names, k->interp, k->threads.v, k->threads.n, &found);
	for (size_t i = 0; i < found.n; i++) {
		uint64_t key = key_of(k, found.v[i].coroutine);

		if (key) {
			map_put(&k->index, key, k->tasks.n);
			vec_push(&k->tasks, found.v[i].name);
		}
	}
	k->coro = a.coro;
	objects_done(&o);
}

/* Reads the list when it is time: later the longer it takes, and the less there is. */
static void refresh(struct py_tasks *k, uint64_t now_ns)
{
	uint64_t began = clock_ns(), took;

	read_tasks(k);
	took = READ_SHARE * (clock_ns() - began);
	k->wait_ns = k->tasks.n ? READ_LEAST_NS : 2 * k->wait_ns + READ_LEAST_NS;
	if (k->wait_ns < took)
		k->wait_ns = took;
	if (k->wait_ns > READ_MOST_NS && took < READ_MOST_NS)
		k->wait_ns = READ_MOST_NS;
	k->next_ns = now_ns + k->wait_ns;
}

static const char *find(const struct py_tasks *k, const struct walk *w)
{
	const struct py_layout *l = &k->target->layout;
	uint32_t iframe = l->flags & PY_HEAP_FRAMES ? 0 : l->gen_iframe;
	uint64_t index;

	for (size_t i = 0; i < w->n_generators; i++)
		if (map_find(&k->index, w->generators[i] - iframe, &index))
			return k->tasks.v[index];
	return NULL;
}

const char *py_tasks_find(struct py_tasks *k, const struct walk *w, uint64_t now_ns)
{
	const char *name;

	if (!w->n_generators || !k->interp)
		return NULL;
	name = find(k, w);
	/* Known ones are read again, too: a coroutine's address may be another's by now. */
	if (now_ns < k->next_ns + (name ? READ_MOST_NS / 2 : 0))
		return name;
	refresh(k, now_ns);
	return find(k, w);
}
