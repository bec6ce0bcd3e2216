/* SPDX-License-Identifier: MIT
 * See asyncio.h. Who awaits whom is in asyncio_awaits.c. */
#include "cpython/asyncio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "cpython/asyncio_awaits.h"
#include "cpython/dict.h"
#include "cpython/mem.h"
#include "cpython/names.h"
#include "cpython/object.h"
#include "cpython/strings.h"
#include "wire/name.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	TASK_BYTES_MOST = 1024,
};

bool asyncio_offsets_check(const struct asyncio_offsets *a, const struct py_layout *l)
{
	uint64_t words[] = { a->task_name, a->task_awaited_by, a->task_coro, a->task_node };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i] % 8 || words[i] < l->object_sizeof || words[i] >= a->task_size)
			return false;
	return a->task_size <= TASK_BYTES_MOST && a->task_is_task < a->task_size &&
		a->task_awaited_by_is_set < a->task_size && a->interp_size == l->interp_sizeof &&
		a->interp_tasks_head % 8 == 0 && a->interp_tasks_head < a->interp_size &&
		a->thread_size >= l->thread_sizeof && a->thread_size <= PY_THREAD_BYTES_MAX &&
		a->thread_running_task % 8 == 0 && a->thread_running_task < a->thread_size &&
		a->thread_tasks_head % 8 == 0 && a->thread_tasks_head < a->thread_size;
}

/* ---- one task -------------------------------------------------------------------------------- */

static bool is_c_task(struct asyncio *a, uint64_t task)
{
	const struct object_type *t = object_type(a->o, task);

	return t && object_has_base(a->o, t, "_asyncio.Task");
}

static bool is_coroutine(struct asyncio *a, uint64_t address)
{
	const struct object_type *t = object_type(a->o, address);

	return t &&
		(object_is_static(t, "coroutine") || object_is_static(t, "generator") ||
			object_is_static(t, "coroutine_wrapper"));
}

/* The name behind the coroutine must be one. */
static bool is_name(struct asyncio *a, uint64_t address)
{
	const struct object_type *t = object_type(a->o, address);

	return t && object_is(t, TYPE_UNICODE_SUBCLASS | TYPE_LONG_SUBCLASS);
}

/* Where C tasks have their coroutine; 0 when it cannot be told from this one. */
static uint32_t learn_coro(struct asyncio *a, uint64_t task)
{
	const struct object_type *t = object_type(a->o, task);
	uint64_t words[TASK_BYTES_MOST / 8];
	size_t n = t && t->basicsize <= TASK_BYTES_MOST ? (size_t)t->basicsize / 8 : 0;

	if (a->published)
		return (uint32_t)a->published->task_coro;
	if (!n || mem_read(a->o->mem, task, words, n * 8) < 0)
		return 0;
	for (size_t i = a->o->l->object_sizeof / 8 + 1; i + 1 < n; i++)
		if (is_coroutine(a, words[i]) && is_name(a, words[i + 1]))
			return (uint32_t)i * 8;
	return 0;
}

/* Coroutine, name and what it waits for, as addresses (0: none). */
static int read_fields(struct asyncio *a, uint64_t task, uint64_t ret[3])
{
	memset(ret, 0, 3 * sizeof *ret);
	if (!is_c_task(a, task)) {
		attribute_find(a->o, task, "_name", &ret[1]);
		attribute_find(a->o, task, "_fut_waiter", &ret[2]);
		return attribute_find(a->o, task, "_coro", &ret[0]);
	}
	if (!a->coro)
		a->coro = learn_coro(a, task);
	if (!a->coro || object_word(a->o, task, a->coro, &ret[0]) < 0 ||
		object_word(a->o, task, a->coro + 8, &ret[1]) < 0 ||
		object_word(a->o, task, a->coro - 8, &ret[2]) < 0)
		return -EINVAL;
	return 0;
}

static int add_name(struct asyncio *a, uint64_t name, struct buf *out)
{
	int64_t number;

	if (object_int(a->o, name, &number) ==
		0) { /* 3.12+: a text is made when one is asked for */
		buf_printf(out, "Task-%lld", (long long)number);
		return 0;
	}
	return strings_read_name(a->o->mem, a->o->l, name, NAME_CHARS_MOST, out);
}

int asyncio_name(struct asyncio *a, uint64_t task, struct buf *out)
{
	uint64_t fields[3];
	int failed = read_fields(a, task, fields);

	return failed ? failed : add_name(a, fields[1], out);
}

/* What stands between a coroutine and the next one: obj.__await__(), an async generator's step. */
static uint64_t unwrapped(struct asyncio *a, uint64_t address)
{
	const struct object_type *t = object_type(a->o, address);
	uint64_t inner;

	if (t &&
		(object_is_static(t, "coroutine_wrapper") ||
			object_is_static(t, "async_generator_asend")) &&
		object_word(a->o, address, a->o->l->object_sizeof, &inner) == 0)
		return inner;
	return address;
}

static void read_stack(struct asyncio *a, struct arena *arena, struct asyncio_task *t)
{
	struct stack_frame frames[ASYNCIO_STACK_MOST];
	uint64_t at = unwrapped(a, t->coroutine), awaits;
	enum coroutine_state state;
	size_t n = 0;

	t->state = COROUTINE_ENDED;
	while (n < ASYNCIO_STACK_MOST &&
		stack_coroutine(a->o, at, &state, &frames[n], &awaits) == 0) {
		if (n == 0)
			t->state = state;
		if (state == COROUTINE_ENDED)
			break;
		n++;
		at = awaits ? unwrapped(a, awaits) : 0;
	}
	t->frames = arena_new_n(arena, struct stack_frame, n);
	for (size_t i = 0; i < n; i++)
		t->frames[i] = frames[n - 1 - i];
	t->n_frames = n;
}

/* ---- all tasks ------------------------------------------------------------------------------- */

struct gathering {
	struct asyncio *a;
	struct arena *arena;
	struct map known; /* address → index */
	VEC(struct asyncio_task) tasks;
};

static void add_task(struct gathering *g, uint64_t address)
{
	struct asyncio_task t = { .address = address };
	struct buf name = BUF_INIT;
	uint64_t fields[3], known;

	if (g->tasks.n == ASYNCIO_TASKS_MOST || map_find(&g->known, address, &known) ||
		read_fields(g->a, address, fields) < 0)
		return;
	t.coroutine = fields[0];
	t.waits_on = fields[2];
	if (t.coroutine)
		read_stack(g->a, g->arena, &t);
	if (!t.coroutine || t.state == COROUTINE_ENDED)
		return;
	add_name(g->a, fields[1], &name);
	t.name = arena_strdup(g->arena, buf_str(&name));
	buf_done(&name);
	map_put(&g->known, address, g->tasks.n);
	vec_push(&g->tasks, t);
}

/* 3.14+: a ring of nodes inside the tasks. */
static void add_list(struct gathering *g, uint64_t head)
{
	uint64_t at;
	int n = 0;

	if (object_word(g->a->o, head, 0, &at) < 0)
		return;
	for (; at && at != head && n < ASYNCIO_TASKS_MOST; n++) {
		uint64_t task = at - g->a->published->task_node;

		if (!is_c_task(g->a, task))
			return; /* torn: the rest leads anywhere */
		add_task(g, task);
		if (object_word(g->a->o, at, 0, &at) < 0)
			return;
	}
}

/* A set of tasks, or of weak references to them. */
static void add_set(struct gathering *g, uint64_t set)
{
	uint64_t *items = calloc(ASYNCIO_TASKS_MOST, sizeof *items), task;
	int64_t n = items ? object_set_items(g->a->o, set, items, ASYNCIO_TASKS_MOST) : 0;

	for (int64_t i = 0; i < n; i++) {
		const struct object_type *t = object_type(g->a->o, items[i]);

		if (t &&
			(object_has_base(g->a->o, t, "weakref") || /* before 3.11 */
				object_has_base(g->a->o, t, "weakref.ReferenceType"))) {
			if (object_word(g->a->o, items[i], g->a->o->l->weakref_object, &task) == 0)
				add_task(g, task);
		} else {
			add_task(g, items[i]);
		}
	}
	free(items);
}

static void add_from_module(struct gathering *g, uint64_t interp)
{
	static const char *const weak_sets[] = { "_all_tasks", "_scheduled_tasks" };
	uint64_t module, set, data;

	if (names_module(g->a->o, interp, "asyncio.tasks", &module) < 0)
		return;
	for (size_t i = 0; i < sizeof weak_sets / sizeof *weak_sets; i++)
		if (attribute_find(g->a->o, module, weak_sets[i], &set) == 0 &&
			attribute_find(g->a->o, set, "data", &data) == 0)
			add_set(g, data);
	if (attribute_find(g->a->o, module, "_eager_tasks", &set) == 0)
		add_set(g, set);
}

/* By name, numbers in it by their value: lists and sets have no order that people know. */
static int compare_tasks(const void *a, const void *b)
{
	const struct asyncio_task *x = a, *y = b;
	int c = strverscmp(x->name, y->name);

	return c ? c : (x->address > y->address) - (x->address < y->address);
}

void asyncio_read(struct asyncio *a, struct arena *arena, uint64_t interp, const uint64_t *threads,
	size_t n_threads, struct asyncio_tasks *ret)
{
	struct gathering g = { .a = a, .arena = arena };

	if (a->published) {
		for (size_t i = 0; i < n_threads; i++)
			add_list(&g, threads[i] + a->published->thread_tasks_head);
		add_list(&g, interp + a->published->interp_tasks_head);
	}
	add_from_module(&g, interp);
	if (g.tasks.n)
		qsort(g.tasks.v, g.tasks.n, sizeof *g.tasks.v, compare_tasks);
	for (size_t i = 0; i < g.tasks.n; i++)
		map_put(&g.known, g.tasks.v[i].address, i);
	ret->n = g.tasks.n;
	ret->v = arena_copy(arena, g.tasks.v, g.tasks.n * sizeof *g.tasks.v);
	asyncio_find_awaiters(a, arena, &g.known, ret);
	vec_done(&g.tasks);
	map_done(&g.known);
}
