/* SPDX-License-Identifier: MIT
 * See callgraph.h. */
#include "analyze/callgraph.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/exact.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/banned.h"

struct call {
	uint32_t caller, callee; /* functions */
	uint64_t calls;
	double seconds;
	size_t seen; /* the last place that counted it, + 1 */
};

struct builder {
	const struct stacks *s;
	struct callgraph_node *nodes; /* by function */
	size_t *seen;
	bool *is_kept;
	size_t n;
	struct map call_index;
	VEC(struct call) calls;
};

static void add_call(
	struct builder *b, uint32_t caller, uint32_t callee, size_t place, double seconds)
{
	uint64_t key = (uint64_t)caller << 32 | callee, at;

	if (!map_find(&b->call_index, key, &at)) {
		at = b->calls.n;
		map_put(&b->call_index, key, at);
		vec_push(&b->calls, (struct call){ .caller = caller, .callee = callee });
	}
	if (b->calls.v[at].seen == place + 1)
		return;
	b->calls.v[at].seen = place + 1;
	b->calls.v[at].seconds += seconds;
}

static void add_places(struct builder *b, struct stack_frame *frames)
{
	for (size_t i = 0; i < b->s->n; i++) {
		size_t n = stacks_frames(b->s, i, frames);
		double seconds = b->s->v[i].seconds;

		for (size_t k = 0; k < n; k++) {
			uint32_t f = frames[k].function;

			b->nodes[f].self_s += k == 0 ? seconds : 0;
			b->nodes[f].total_s += b->seen[f] == i + 1 ? 0 : seconds;
			b->seen[f] = i + 1;
			if (k)
				add_call(b, f, frames[k - 1].function, i, seconds);
		}
	}
}

static void add_exact(struct builder *b, const struct exact *x)
{
	for (size_t i = 0; i < x->n_functions; i++) {
		const struct exact_function *f = &x->functions[i];

		b->nodes[f->function] =
			(struct callgraph_node){ .calls = f->cost.calls + f->cost.resumes,
				.self_s = f->cost.self_s,
				.total_s = f->cost.total_s };
		b->seen[f->function] = 1;
	}
	for (size_t i = 0; i < x->n_edges; i++)
		vec_push(&b->calls,
			(struct call){ .caller = x->functions[x->edges[i].caller].function,
				.callee = x->functions[x->edges[i].callee].function,
				.calls = x->edges[i].cost.calls + x->edges[i].cost.resumes,
				.seconds = x->edges[i].cost.total_s });
}

/* Keeps what can be reached from functions of that name, along calls or against them. */
static void keep_reachable(struct builder *b, const char *pattern, bool downwards)
{
	bool *found = xcalloc(b->n + 1, sizeof *found), grows = true;

	for (uint32_t f = 0; f < b->n; f++)
		found[f] = fnmatch(pattern, frames_function(b->s->frames, f)->name, 0) == 0;
	while (grows) {
		grows = false;
		vec_each (&b->calls, c) {
			uint32_t from = downwards ? c->caller : c->callee,
				 to = downwards ? c->callee : c->caller;

			if (found[from] && !found[to])
				found[to] = grows = true;
		}
	}
	for (uint32_t f = 0; f < b->n; f++)
		b->is_kept[f] &= found[f];
	free(found);
}

static int by_total(const void *a, const void *b)
{
	const struct callgraph_node *x = a, *y = b;

	if (x->total_s != y->total_s)
		return x->total_s < y->total_s ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static int by_caller(const void *a, const void *b)
{
	const struct callgraph_edge *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->seconds != y->seconds)
		return x->seconds < y->seconds ? 1 : -1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

static void finish(struct builder *b, struct arena *a, double edge_s, struct callgraph *g)
{
	struct callgraph_node *nodes = arena_new_n(a, struct callgraph_node, b->n);
	struct callgraph_edge *edges = arena_new_n(a, struct callgraph_edge, b->calls.n);
	size_t *index = arena_new_n(a, size_t, b->n);

	for (uint32_t f = 0; f < b->n; f++)
		if (b->is_kept[f])
			nodes[g->n_nodes++] = b->nodes[f];
		else
			g->n_left_out += b->seen[f] > 0;
	if (g->n_nodes)
		qsort(nodes, g->n_nodes, sizeof *nodes, by_total);
	for (size_t i = 0; i < g->n_nodes; i++)
		index[nodes[i].function] = i;
	vec_each (&b->calls, c)
		if (b->is_kept[c->caller] && b->is_kept[c->callee] && c->seconds >= edge_s)
			edges[g->n_edges++] = (struct callgraph_edge){ index[c->caller],
				index[c->callee], c->calls, c->seconds };
	if (g->n_edges)
		qsort(edges, g->n_edges, sizeof *edges, by_caller);
	g->nodes = nodes;
	g->edges = edges;
}

const struct callgraph *callgraph_build(struct arena *a, const struct stacks *s,
	const struct exact *x, const struct callgraph_options *o)
{
	struct callgraph *g = arena_new(a, struct callgraph);
	struct builder b = { .s = s, .n = frames_n_functions(s->frames) };

	b.nodes = arena_new_n(a, struct callgraph_node, b.n + 1);
	b.seen = arena_new_n(a, size_t, b.n + 1);
	b.is_kept = arena_new_n(a, bool, b.n + 1);
	g->seconds = x ? x->self_s : s->seconds;
	if (x)
		add_exact(&b, x);
	else
		add_places(&b, arena_new_n(a, struct stack_frame, STACKS_DEPTH));
	for (uint32_t f = 0; f < b.n; f++) {
		b.nodes[f].function = f;
		b.is_kept[f] = b.seen[f] && b.nodes[f].total_s >= o->node_share * g->seconds;
	}
	if (o->root)
		keep_reachable(&b, o->root, true);
	if (o->leaf)
		keep_reachable(&b, o->leaf, false);
	finish(&b, a, o->edge_share * g->seconds, g);
	vec_done(&b.calls);
	map_done(&b.call_index);
	return g;
}
