/* SPDX-License-Identifier: MIT
 * See tasks.h. A sample has half of the time to each of its neighbours of the same thread, as in stacks.c;
 * which task it is of says the thread's last task record before it. */
#include "analyze/tasks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct turn { /* from then on the thread runs this task */
	uint64_t t_ns;
	uint32_t name; /* row of the merged string table, 0 none */
};

typedef VEC(struct turn) turns;

struct pending { /* a thread's last sample, whose time is not complete yet */
	uint64_t t_ns;
	double half;
	uint32_t name, leaf;
	bool is_on_cpu;
};

struct builder {
	struct tables *t;
	struct frames *frames;
	turns *turns; /* by thread row */
	struct pending *pending;
	struct map index; /* name → task */
	VEC(struct task) tasks;
	struct map leaves; /* task, function → index in seconds */
	VEC(double) seconds;
	double other_s;
};

static void gather_turns(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_task);

	for (const struct rec_task *r; (r = record_next(&it));)
		vec_push(&b->turns[r->thread], ((struct turn){ r->t_ns, r->name }));
	record_iter_done(&it);
}

/* The task of a thread at that time: records of one thread are in order. */
static uint32_t task_at(const turns *all, uint64_t t_ns)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->v[middle].t_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? all->v[low - 1].name : 0;
}

static size_t task_index(struct builder *b, uint32_t name)
{
	uint64_t index;

	if (map_find(&b->index, name, &index))
		return index;
	map_put(&b->index, name, b->tasks.n);
	vec_push(&b->tasks, ((struct task){ .name = tables_string(b->t, name) }));
	return b->tasks.n - 1;
}

static void add_leaf(struct builder *b, size_t task, uint32_t leaf, double seconds)
{
	uint64_t key = (uint64_t)task << 32 | leaf, top = (uint64_t)task << 32, index, best;

	if (!map_find(&b->leaves, key, &index)) {
		index = b->seconds.n;
		map_put(&b->leaves, key, index);
		vec_push(&b->seconds, 0);
	}
	b->seconds.v[index] += seconds;
	top |= b->tasks.v[task].top_leaf;
	if (!map_find(&b->leaves, top, &best) || b->seconds.v[index] >= b->seconds.v[best])
		b->tasks.v[task].top_leaf = leaf;
}

static void settle(struct builder *b, const struct pending *p, double half)
{
	double seconds = p->half + half;
	struct task *task;
	size_t index;

	if (!p->t_ns)
		return;
	if (!p->name) {
		b->other_s += seconds;
		return;
	}
	index = task_index(b, p->name);
	task = &b->tasks.v[index];
	task->n_samples++;
	task->seconds += seconds;
	task->cpu_s += p->is_on_cpu ? seconds : 0;
	add_leaf(b, index, p->leaf, seconds);
}

static uint32_t leaf_of(struct builder *b, const struct rec_sample *s)
{
	const struct rec_stack *stack;

	if (s->leaf_code)
		return frames_of_code(b->frames, s->leaf_code, s->leaf_offset).function;
	stack = tables_row(b->t, RECORD_stack, s->stack);
	return frames_get(b->frames, stack ? stack->frame : 0).function;
}

static void gather_samples(struct builder *b, size_t n_threads)
{
	struct record_iter it = record_iter(b->t, RECORD_sample);

	for (const struct rec_sample *s; (s = record_next(&it));) {
		struct pending *p = &b->pending[s->thread];
		double half = p->t_ns && s->t_ns > p->t_ns ? (double)(s->t_ns - p->t_ns) / 2e9 : 0;

		if (!b->turns[s->thread].n)
			continue;
		settle(b, p, half);
		*p = (struct pending){ .t_ns = s->t_ns,
			.half = half,
			.name = task_at(&b->turns[s->thread], s->t_ns),
			.leaf = leaf_of(b, s),
			.is_on_cpu = s->state & SAMPLE_ON_CPU };
	}
	record_iter_done(&it);
	for (size_t i = 0; i <= n_threads; i++)
		settle(b, &b->pending[i], 0);
}

static int by_time(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return x->seconds < y->seconds    ? 1
		: x->seconds > y->seconds ? -1
					  : strcmp(x->name, y->name);
}

const struct tasks *tasks_build(struct arena *a, struct tables *t, const struct stacks *s)
{
	size_t n_threads = tables_count(t, RECORD_thread);
	struct tasks *ret = arena_new_n(a, struct tasks, 1);
	struct builder b = { .t = t,
		.frames = s->frames,
		.turns = xcalloc(n_threads + 1, sizeof *b.turns),
		.pending = xcalloc(n_threads + 1, sizeof *b.pending) };

	gather_turns(&b);
	gather_samples(&b, n_threads);
	if (b.tasks.n)
		qsort(b.tasks.v, b.tasks.n, sizeof *b.tasks.v, by_time);
	*ret = (struct tasks){ .v = arena_copy(a, b.tasks.v, b.tasks.n * sizeof *b.tasks.v),
		.n = b.tasks.n,
		.other_s = b.other_s };
	for (size_t i = 0; i <= n_threads; i++)
		vec_done(&b.turns[i]);
	free(b.turns);
	free(b.pending);
	map_done(&b.index);
	map_done(&b.leaves);
	vec_done(&b.tasks);
	vec_done(&b.seconds);
	return ret;
}
