/* SPDX-License-Identifier: MIT
 * See flametree.h: the tree of one thread in the order of time. Frames that two neighbouring spans have in common, from
 * the root on, go on; so nodes are made in depth-first order as they begin. */
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/timeline.h"
#include "analyze/samples/flametree.h"
#include "analyze/samples/stacks.h"
#include "analyze/samples/thread_states.h"
#include "base/arena.h"
#include "base/vec.h"
#include "base/banned.h"

struct builder {
	VEC(uint32_t) parent, end, function, n_children, n_samples;
	VEC(uint32_t) depth;
	VEC(double) x, total, self;
	VEC(uint32_t) open; /* nodes, the root first */
	uint64_t zero_ns;
	size_t n_too_many; /* calls that are open but have no node */
};

static void open_node(struct builder *b, uint32_t function, double t_s)
{
	uint32_t node = (uint32_t)b->parent.n;

	if (node)
		b->n_children.v[b->open.v[b->open.n - 1]]++;
	vec_push(&b->parent, node ? b->open.v[b->open.n - 1] : 0);
	vec_push(&b->end, 0);
	vec_push(&b->function, function);
	vec_push(&b->depth, (uint32_t)b->open.n);
	vec_push(&b->n_children, 0);
	vec_push(&b->x, t_s);
	vec_push(&b->total, 0);
	vec_push(&b->self, 0);
	vec_push(&b->n_samples, 0);
	vec_push(&b->open, node);
}

static void close_to(struct builder *b, size_t depth, double t_s)
{
	while (b->open.n > depth) {
		uint32_t node = b->open.v[--b->open.n];

		b->end.v[node] = (uint32_t)b->parent.n;
		b->total.v[node] = t_s - b->x.v[node];
	}
}

static void add_span(struct builder *b, const struct stack_frame *frames, size_t n, double t_s,
	double end_s, uint64_t n_samples)
{
	size_t common = 0; /* functions, the root node not counted */

	while (common < n && common + 1 < b->open.n &&
		b->function.v[b->open.v[common + 1]] == frames[n - 1 - common].function)
		common++;
	close_to(b, common + 1, t_s);
	for (size_t i = common; i < n && b->parent.n < FLAMETREE_NODES; i++)
		open_node(b, frames[n - 1 - i].function, t_s);
	b->self.v[b->open.v[b->open.n - 1]] += end_s - t_s;
	for (size_t i = 0; i < b->open.n; i++)
		b->n_samples.v[b->open.v[i]] += (uint32_t)n_samples;
}

/* A column at a time, so that no two stand twice. */
static void *take(struct arena *a, void *v, size_t bytes)
{
	void *copy = arena_copy(a, v, bytes);

	free(v);
	return copy;
}

#define take_column(a, column) take((a), (column).v, (column).n * sizeof *(column).v)

static struct flametree *finish(struct arena *a, struct builder *b)
{
	struct flametree *t = arena_new(a, struct flametree);

	*t = (struct flametree){
		.n = b->parent.n,
		.is_time = true,
		.parent = take_column(a, b->parent),
		.end = take_column(a, b->end),
		.function = take_column(a, b->function),
		.depth = take_column(a, b->depth),
		.n_children = take_column(a, b->n_children),
		.x = take_column(a, b->x),
		.total = take_column(a, b->total),
		.self = take_column(a, b->self),
		.n_samples = take_column(a, b->n_samples),
	};
	vec_done(&b->open);
	return t;
}

const struct flametree *flametree_of_time(
	struct arena *a, const struct stacks *s, const struct state_thread *thread)
{
	struct stack_frame *frames = xcalloc(STACKS_DEPTH, sizeof *frames);
	struct builder b = { 0 };

	open_node(&b, UINT32_MAX, thread->n ? (double)thread->v[0].t_ns / 1e9 : 0);
	for (size_t i = 0; i < thread->n; i++) {
		const struct state_span *x = &thread->v[i];
		uint64_t end_ns = i + 1 < thread->n ? thread->v[i + 1].t_ns : thread->end_ns;
		size_t n = x->state == STRIP_NONE
			? 0
			: stacks_frames_at(s, x->stack, x->leaf_code, x->leaf_offset, frames);

		add_span(&b, frames, n, (double)x->t_ns / 1e9, (double)end_ns / 1e9, x->n_samples);
	}
	close_to(&b, 0, (double)thread->end_ns / 1e9);
	free(frames);
	return finish(a, &b);
}

/* ---- traced calls ---------------------------------------------------------------------------- */

static double seconds_at(const struct builder *b, uint64_t t_ns)
{
	return t_ns > b->zero_ns ? (double)(t_ns - b->zero_ns) / 1e9 : 0;
}

static void begin_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	struct builder *b = ctx;

	if (b->n_too_many || b->parent.n >= FLAMETREE_NODES)
		b->n_too_many++;
	else
		open_node(b, function, seconds_at(b, t_ns));
}

static void end_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	struct builder *b = ctx;

	(void)function;
	if (b->n_too_many)
		b->n_too_many--;
	else if (b->open.n > 1)
		close_to(b, b->open.n - 1, seconds_at(b, t_ns));
}

const struct flametree *flametree_of_calls(
	struct arena *a, const struct timeline *t, uint32_t thread_row, uint64_t zero_ns)
{
	struct builder b = { .zero_ns = zero_ns };
	const struct timeline_thread *thread = NULL;
	uint64_t *n_calls;
	struct flametree *tree;

	for (size_t i = 0; i < t->n_threads; i++)
		if (t->threads[i].row == thread_row)
			thread = &t->threads[i];
	if (!thread)
		return NULL;
	open_node(&b, UINT32_MAX, seconds_at(&b, thread->t_ns));
	timeline_visit(t, thread_row, &(struct timeline_window){ 0 },
		&(struct timeline_visitor){ .ctx = &b, .begin = begin_call, .end = end_call });
	close_to(&b, 0, seconds_at(&b, thread->end_ns));
	for (size_t i = 0; i < b.parent.n; i++)
		b.self.v[i] += b.total.v[i];
	for (size_t i = 1; i < b.parent.n; i++)
		b.self.v[b.parent.v[i]] -= b.total.v[i];
	n_calls = arena_new_n(a, uint64_t, b.parent.n);
	for (size_t i = 1; i < b.parent.n; i++)
		n_calls[i] = 1;
	tree = finish(a, &b);
	tree->n_calls = n_calls;
	return tree;
}
