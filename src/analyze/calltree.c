/* SPDX-License-Identifier: MIT
 * See calltree.h. */
#include "analyze/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/banned.h"

struct node {
	struct calltree_node out;
	uint32_t parent, n_children;
};

struct builder {
	const struct stacks *s;
	const bool *keep;
	double scale;
	VEC(struct node) nodes; /* 0 is the root; parents before children */
	struct map children;    /* parent << 32 | function → node */
};

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function, node;

	if (map_find(&b->children, key, &node))
		return (uint32_t)node;
	node = b->nodes.n;
	map_put(&b->children, key, node);
	vec_push(&b->nodes, (struct node){ .out.function = function, .parent = parent });
	b->nodes.v[parent].n_children++;
	return (uint32_t)node;
}

size_t calltree_repeated(const struct stack_frame *frames, size_t n)
{
	for (size_t period = 1; period <= CALLTREE_PERIOD && 2 * period <= n; period++) {
		size_t i = 0;

		while (i < period && frames[i].function == frames[i + period].function)
			i++;
		if (i == period)
			return period;
	}
	return 0;
}

/* The same of functions, root first. */
static size_t repeated(const uint32_t *functions, size_t n)
{
	for (size_t period = 1; period <= CALLTREE_PERIOD && 2 * period <= n; period++)
		if (memcmp(functions + n - period, functions + n - 2 * period,
			    period * sizeof *functions) == 0)
			return period;
	return 0;
}

static bool is_kept(const struct builder *b, const struct stack_frame *frames, size_t n)
{
	for (size_t i = 0; b->keep && i < n; i++)
		if (b->keep[frames[i].function])
			return true;
	return !b->keep;
}

/* Fills the path of nodes, root first, without repetitions; returns its length. */
static size_t make_path(struct builder *b, const struct stack_frame *frames, size_t n,
	uint32_t *functions, uint32_t *nodes)
{
	size_t length = 0;

	for (size_t i = n; i-- > 0;) {
		size_t again;

		functions[length] = frames[i].function;
		nodes[length] = UINT32_MAX;
		again = repeated(functions, ++length);
		length -= again;
		if (again)
			for (size_t k = length - again; k < length; k++)
				nodes[k] = UINT32_MAX - 1; /* recursive; found below */
	}
	for (size_t i = 0; i < length; i++) {
		bool is_recursive = nodes[i] == UINT32_MAX - 1;

		nodes[i] = child_of(b, i ? nodes[i - 1] : 0, functions[i]);
		b->nodes.v[nodes[i]].out.is_recursive |= is_recursive;
	}
	return length;
}

static void add_place(struct builder *b, size_t place, struct stack_frame *frames,
	uint32_t *functions, uint32_t *nodes)
{
	const struct stack_place *p = &b->s->v[place];
	size_t n = stacks_frames(b->s, place, frames), length;

	if (!n || !is_kept(b, frames, n))
		return;
	length = make_path(b, frames, n, functions, nodes);
	for (size_t i = 0; i <= length; i++) {
		struct calltree_node *x = &b->nodes.v[i ? nodes[i - 1] : 0].out;

		x->total_n += p->n_samples;
		x->total_s += p->seconds * b->scale;
	}
	b->nodes.v[nodes[length - 1]].out.self_n += p->n_samples;
	b->nodes.v[nodes[length - 1]].out.n_calls += p->n_calls;
	b->nodes.v[nodes[length - 1]].out.self_s += p->seconds * b->scale;
}

static int by_total(const void *a, const void *b)
{
	const struct calltree_node *x = *(const struct calltree_node *const *)a,
				   *y = *(const struct calltree_node *const *)b;

	if (x->total_s != y->total_s)
		return x->total_s < y->total_s ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* The children of all nodes lie in one array, those of a node side by side. */
static const struct calltree_node *finish(struct arena *a, struct builder *b)
{
	struct calltree_node *all = arena_new_n(a, struct calltree_node, b->nodes.n);
	const struct calltree_node **next =
		arena_new_n(a, const struct calltree_node *, b->nodes.n);

	for (size_t i = 0; i < b->nodes.n; i++) {
		struct node *x = &b->nodes.v[i];

		all[i] = x->out;
		all[i].children = next;
		next += x->n_children;
		if (i) {
			const struct calltree_node **siblings =
				(const struct calltree_node **)all[x->parent].children;

			siblings[all[x->parent].n_children++] = &all[i];
		}
	}
	for (size_t i = 0; i < b->nodes.n; i++)
		if (all[i].n_children > 1)
			qsort((void *)all[i].children, all[i].n_children, sizeof *all[i].children,
				by_total);
	return all;
}

const struct calltree_node *calltree_build(
	struct arena *a, const struct stacks *s, double lost_share, const bool *keep)
{
	struct builder b = { .s = s, .keep = keep, .scale = 1 - lost_share };
	struct stack_frame *frames = xcalloc(STACKS_DEPTH, sizeof *frames);
	uint32_t *functions = xcalloc(STACKS_DEPTH + 1, sizeof *functions),
		 *nodes = xcalloc(STACKS_DEPTH + 1, sizeof *nodes);
	const struct calltree_node *root;

	vec_push(&b.nodes, (struct node){ 0 });
	for (size_t i = 0; i < s->n; i++)
		add_place(&b, i, frames, functions, nodes);
	map_done(&b.children); /* before the tree is made: it is as large */
	root = finish(a, &b);
	free(frames);
	free(functions);
	free(nodes);
	vec_done(&b.nodes);
	return root;
}
