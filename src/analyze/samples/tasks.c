/* SPDX-License-Identifier: MIT
 * See tasks.h. Which task a sample is of says the thread's last task record before it. */
#include "analyze/samples/tasks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/frames.h"
#include "analyze/samples/stacks.h"
#include "analyze/samples/weights.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/text.h"
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
	uint64_t before_ns;
	uint32_t name, leaf, coroutine;
	double on_cpu; /* of its time */
};

struct builder {
	struct tables *t;
	struct frames *frames;
	turns *turns; /* by thread row */
	struct pending *pending;
	struct weights *weights;
	struct map index; /* name → task */
	VEC(struct task) tasks;
	struct map leaves; /* task, function → index in seconds */
	VEC(double) seconds;
	/* row of the stack table << 32 | code of the leaf → function, of what was asked for */
	struct map coroutines;
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
	size_t low = bisect(i, all->n, all->v[i].t_ns <= t_ns);

	return low ? all->v[low - 1].name : 0;
}

/* ---- whose coroutine ------------------------------------------------------------------------- */

/* "Handle._run", or "_run" where the interpreter keeps no qualified names. */
static bool is_called(const struct stack_function *f, const char *name, const char *file)
{
	const char *dot = strrchr(f->name, '.');

	return strcmp(dot ? dot + 1 : f->name, name) == 0 && text_ends_with(f->file, file);
}

/* Runs the callbacks of a loop, the steps of tasks among them. */
static bool is_loop(const struct stack_function *f)
{
	return is_called(f, "_run", "asyncio/events.py");
}

/* A task that is written in Python: PYTHONASYNCIODEBUG, or no C. */
static bool is_step(const struct stack_function *f)
{
	return text_ends_with(f->file, "asyncio/tasks.py") &&
		(strstr(f->name, "__step") || strstr(f->name, "__wakeup"));
}

/* From the innermost frame outward: the last function before the loop's own. */
static uint32_t find_coroutine(struct builder *b, const struct rec_sample *s)
{
	uint32_t found = TASK_UNKNOWN, at = s->stack, n = tables_count(b->t, RECORD_stack);

	if (s->leaf_code)
		found = frames_code_function(b->frames, s->leaf_code);
	while (at && at <= n) {
		const struct rec_stack *r = tables_row(b->t, RECORD_stack, at);
		uint32_t function = frames_get(b->frames, r->frame).function;
		const struct stack_function *f = frames_function(b->frames, function);

		if (is_loop(f))
			return found;
		if (!is_step(f))
			found = function;
		at = r->parent < at ? r->parent : 0; /* callers come first */
	}
	return TASK_UNKNOWN;
}

/* The same once for each stack; the leaf matters only where nothing lies between it and the loop. */
static uint32_t coroutine_of(struct builder *b, const struct rec_sample *s)
{
	uint64_t key = (uint64_t)s->stack << 32 | s->leaf_code, known;

	if (map_find(&b->coroutines, key, &known))
		return (uint32_t)known;
	known = find_coroutine(b, s);
	map_put(&b->coroutines, key, known);
	return (uint32_t)known;
}

/* ---- time ------------------------------------------------------------------------------------ */

static size_t task_index(struct builder *b, uint32_t name)
{
	uint64_t index;

	if (map_find(&b->index, name, &index))
		return index;
	map_put(&b->index, name, b->tasks.n);
	vec_push(&b->tasks,
		((struct task){ .name = tables_string(b->t, name), .coroutine = TASK_UNKNOWN }));
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

static void settle(struct builder *b, const struct pending *p, const struct weight_gap *g)
{
	double seconds;
	struct task *task;
	size_t index;

	if (!g->has_last)
		return;
	b->other_s += (double)(g->gone_ns - g->last_end_ns) / 1e9;
	seconds = (double)(p->before_ns + (g->last_end_ns - g->last_ns)) / 1e9;
	if (!p->name) {
		b->other_s += seconds;
		return;
	}
	index = task_index(b, p->name);
	task = &b->tasks.v[index];
	task->n_samples++;
	task->seconds += seconds;
	task->cpu_s += seconds * p->on_cpu;
	if (task->coroutine == TASK_UNKNOWN)
		task->coroutine = p->coroutine;
	add_leaf(b, index, p->leaf, seconds);
}

static void gather_samples(struct builder *b, size_t n_threads)
{
	struct record_iter it = record_iter(b->t, RECORD_sample);
	struct weight_gap g;

	for (const struct rec_sample *s; (s = record_next(&it));) {
		struct pending *p = &b->pending[s->thread];

		if (!b->turns[s->thread].n)
			continue;
		g = weights_gap(b->weights, s);
		settle(b, p, &g);
		b->other_s += (double)(g.begin_ns - g.came_ns) / 1e9;
		*p = (struct pending){ .before_ns = s->t_ns - g.begin_ns,
			.name = task_at(&b->turns[s->thread], s->t_ns),
			.coroutine = coroutine_of(b, s),
			.leaf = frames_leaf(b->frames, s->stack, s->leaf_code, s->leaf_offset),
			.on_cpu = weights_on_cpu(b->weights, s) };
	}
	record_iter_done(&it);
	for (uint32_t i = 0; i <= n_threads; i++)
		if (weights_end(b->weights, i, true, &g))
			settle(b, &b->pending[i], &g);
}

static int by_time(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return x->seconds < y->seconds    ? 1
		: x->seconds > y->seconds ? -1
					  : strcmp(x->name, y->name);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* "Task-*" of "Task-17": names that differ only in numbers are alike. */
static void add_pattern(struct buf *out, const char *name)
{
	while (*name) {
		size_t digits = strspn(name, "0123456789");

		buf_addc(out, digits ? '*' : *name);
		name += digits ? digits : 1;
	}
}

struct member {
	const struct task *task;
	const char *group; /* its name */
};

static int by_group(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->task->coroutine != y->task->coroutine)
		return x->task->coroutine < y->task->coroutine ? -1 : 1;
	if (strcmp(x->group, y->group) != 0)
		return strcmp(x->group, y->group);
	return x->task->seconds < y->task->seconds ? -1 : x->task->seconds > y->task->seconds;
}

static int by_group_time(const void *a, const void *b)
{
	const struct task_group *x = a, *y = b;

	return x->seconds < y->seconds    ? 1
		: x->seconds > y->seconds ? -1
					  : strcmp(x->name, y->name);
}

/* n > 0 tasks of one group, the least time first. */
static struct task_group sum_group(const struct member *v, size_t n)
{
	struct task_group g = { .name = v->group,
		.coroutine = v->task->coroutine,
		.n_tasks = n,
		.least_s = v[0].task->seconds,
		.median_s = (v[(n - 1) / 2].task->seconds + v[n / 2].task->seconds) / 2,
		.most_s = v[n - 1].task->seconds,
		.top_leaf = v[n - 1].task->top_leaf };

	for (size_t i = 0; i < n; i++) {
		g.n_samples += v[i].task->n_samples;
		g.seconds += v[i].task->seconds;
		g.cpu_s += v[i].task->cpu_s;
	}
	return g;
}

static void build_groups(struct arena *a, const struct stacks *s, struct tasks *ret)
{
	struct member *v = xcalloc(ret->n + 1, sizeof *v);
	struct task_group *groups = arena_new_n(a, struct task_group, ret->n + 1);
	size_t end;

	for (size_t i = 0; i < ret->n; i++) {
		struct buf name = BUF_INIT;

		if (ret->v[i].coroutine == TASK_UNKNOWN)
			add_pattern(&name, ret->v[i].name);
		v[i].task = &ret->v[i];
		v[i].group = ret->v[i].coroutine == TASK_UNKNOWN
			? arena_strdup(a, buf_str(&name))
			: frames_function(s->frames, ret->v[i].coroutine)->name;
		buf_done(&name);
	}
	if (ret->n)
		qsort(v, ret->n, sizeof *v, by_group);
	for (size_t i = 0; i < ret->n; i = end) {
		for (end = i + 1; end < ret->n && v[end].task->coroutine == v[i].task->coroutine &&
			strcmp(v[end].group, v[i].group) == 0;)
			end++;
		groups[ret->n_groups++] = sum_group(&v[i], end - i);
	}
	if (ret->n_groups)
		qsort(groups, ret->n_groups, sizeof *groups, by_group_time);
	ret->groups = groups;
	free(v);
}

const struct tasks *tasks_build(struct arena *a, struct tables *t, const struct stacks *s)
{
	size_t n_threads = tables_count(t, RECORD_thread);
	struct tasks *ret = arena_new_n(a, struct tasks, 1);
	struct builder b = { .t = t,
		.frames = s->frames,
		.turns = xcalloc(n_threads + 1, sizeof *b.turns),
		.pending = xcalloc(n_threads + 1, sizeof *b.pending),
		.weights = weights_load(t) };

	gather_turns(&b);
	gather_samples(&b, n_threads);
	if (b.tasks.n)
		qsort(b.tasks.v, b.tasks.n, sizeof *b.tasks.v, by_time);
	*ret = (struct tasks){ .v = arena_copy(a, b.tasks.v, b.tasks.n * sizeof *b.tasks.v),
		.n = b.tasks.n,
		.other_s = b.other_s };
	build_groups(a, s, ret);
	for (size_t i = 0; i <= n_threads; i++)
		vec_done(&b.turns[i]);
	free(b.turns);
	free(b.pending);
	weights_free(b.weights);
	map_done(&b.index);
	map_done(&b.leaves);
	map_done(&b.coroutines);
	vec_done(&b.tasks);
	vec_done(&b.seconds);
	return ret;
}
