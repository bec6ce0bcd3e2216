/* SPDX-License-Identifier: MIT
 * See asyncio_awaits.h.
 *
 * From 3.14 on a task (and any future) knows who awaits it. Before, two things are known: what a task
 * waits on, and what is called when one is done. A future between the two is recognised by identity, so
 * nothing is guessed: the callback holds the very future that the other task waits on. */
#include "cpython/asyncio_awaits.h"

#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "cpython/asyncio.h"
#include "cpython/dict.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	CHILDREN_MOST = 1024, /* of one gather */
	CALLBACKS_MOST = 16,
	CELLS_MOST = 16,
	LEVELS_MOST = 8, /* futures between two tasks */
	AWAITERS_MOST = 64,
};

struct edge {
	size_t task, awaiter;
};

struct finding {
	struct asyncio *a;
	const struct map *index;
	struct asyncio_tasks *tasks;
	struct map waiters; /* future → index of the task that waits on it */
	VEC(struct edge) edges;
};

static void add_edge(struct finding *f, size_t task, size_t awaiter)
{
	if (task == awaiter)
		return;
	vec_each (&f->edges, e)
		if (e->task == task && e->awaiter == awaiter)
			return;
	vec_push(&f->edges, (struct edge){ task, awaiter });
}

/* ---- 3.14 and later -------------------------------------------------------------------------- */

static void add_published(struct finding *f, size_t task, uint64_t future, unsigned level);

static void add_awaiter(struct finding *f, size_t task, uint64_t awaiter, unsigned level)
{
	uint64_t index;

	if (map_find(f->index, awaiter, &index))
		add_edge(f, task, index);
	else
		add_published(f, task, awaiter, level + 1);
}

/* Tasks, and through futures that are no tasks (a gather's) those behind them. */
static void add_published(struct finding *f, size_t task, uint64_t future, unsigned level)
{
	const struct asyncio_offsets *p = f->a->published;
	const struct object_type *t = object_type(f->a->o, future);
	uint64_t by, items[AWAITERS_MOST];
	unsigned char is_set;
	int64_t n;

	if (level == LEVELS_MOST || !t ||
		(!object_has_base(f->a->o, t, "_asyncio.Task") &&
			!object_has_base(f->a->o, t, "_asyncio.Future")) ||
		object_word(f->a->o, future, (uint32_t)p->task_awaited_by, &by) < 0 || !by ||
		mem_read(f->a->o->mem, future + p->task_awaited_by_is_set, &is_set, 1) < 0)
		return;
	if (!is_set) {
		add_awaiter(f, task, by, level);
		return;
	}
	n = object_set_items(f->a->o, by, items, AWAITERS_MOST);
	for (int64_t i = 0; i < n; i++)
		add_awaiter(f, task, items[i], level);
}

/* ---- before ---------------------------------------------------------------------------------- */

/* `awaiter` waits on this future: a task itself, or a gather's with its children. */
static void add_waits_on(struct finding *f, size_t awaiter, uint64_t future)
{
	uint64_t index, children, items[CHILDREN_MOST];
	int64_t n;

	if (map_find(f->index, future, &index)) {
		add_edge(f, index, awaiter);
		return;
	}
	if (attribute_find(f->a->o, future, "_children", &children) < 0)
		return;
	n = object_items(f->a->o, children, items, CHILDREN_MOST);
	for (int64_t i = 0; i < n && i < CHILDREN_MOST; i++)
		if (map_find(f->index, items[i], &index))
			add_edge(f, index, awaiter);
}

/* Something that a callback of `task` holds: a future that another task waits on, or a TaskGroup. */
static void add_held(struct finding *f, size_t task, uint64_t held)
{
	uint64_t index, parent;

	if (map_find(&f->waiters, held, &index))
		add_edge(f, task, index);
	else if (attribute_find(f->a->o, held, "_parent_task", &parent) == 0 &&
		map_find(f->index, parent, &index))
		add_edge(f, task, index);
}

static void look_into_callback(struct finding *f, size_t task, uint64_t callback)
{
	struct objects *o = f->a->o;
	const struct object_type *t = object_type(o, callback);
	uint64_t at, items[CELLS_MOST], held;
	bool are_cells = false;
	int64_t n = 0;

	if (!t)
		return;
	if (object_is_static(t, "method")) {
		if (object_word(o, callback, o->l->method_self, &held) == 0)
			add_held(f, task, held);
	} else if (object_is_static(t, "function")) {
		are_cells = object_word(o, callback, o->l->function_closure, &at) == 0;
		n = are_cells ? object_items(o, at, items, CELLS_MOST) : 0;
	} else if (strcmp(t->name, "functools.partial") == 0) {
		/* function, arguments */
		n = object_word(o, callback, o->l->object_sizeof + 8, &at) == 0
			? object_items(o, at, items, CELLS_MOST)
			: 0;
	}
	for (int64_t i = 0; i < n && i < CELLS_MOST; i++)
		if (!are_cells)
			add_held(f, task, items[i]);
		else if (object_word(o, items[i], o->l->cell_ref, &held) == 0)
			add_held(f, task, held);
}

/* A C future keeps its first callback by itself, behind its loop, and further ones in a list of pairs
 * with their contexts. */
static void look_into_callbacks(struct finding *f, size_t task)
{
	struct objects *o = f->a->o;
	uint64_t address = f->tasks->v[task].address, words[3], items[CALLBACKS_MOST], callback;
	int64_t n;

	if (mem_read(o->mem, address + o->l->object_sizeof + 8, words, sizeof words) < 0)
		return;
	look_into_callback(f, task, words[0]);
	n = object_items(o, words[2], items, CALLBACKS_MOST);
	for (int64_t i = 0; i < n && i < CALLBACKS_MOST; i++)
		if (object_items(o, items[i], &callback, 1) >= 1)
			look_into_callback(f, task, callback);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void find_edges(struct finding *f)
{
	for (size_t i = 0; i < f->tasks->n; i++)
		if (f->tasks->v[i].waits_on)
			map_put(&f->waiters, f->tasks->v[i].waits_on, i);
	for (size_t i = 0; i < f->tasks->n; i++) {
		if (f->a->published) {
			add_published(f, i, f->tasks->v[i].address, 0);
			continue;
		}
		if (f->tasks->v[i].waits_on)
			add_waits_on(f, i, f->tasks->v[i].waits_on);
		look_into_callbacks(f, i);
	}
}

void asyncio_find_awaiters(struct asyncio *a, struct arena *arena, const struct map *index,
	struct asyncio_tasks *tasks)
{
	struct finding f = { .a = a, .index = index, .tasks = tasks };

	find_edges(&f);
	vec_each (&f.edges, e)
		tasks->v[e->task].n_awaiters++;
	for (size_t i = 0; i < tasks->n; i++) {
		tasks->v[i].awaiters = arena_new_n(arena, size_t, tasks->v[i].n_awaiters);
		tasks->v[i].n_awaiters = 0;
	}
	vec_each (&f.edges, e) {
		struct asyncio_task *t = &tasks->v[e->task];

		t->awaiters[t->n_awaiters++] = e->awaiter;
	}
	vec_done(&f.edges);
	map_done(&f.waiters);
}
