/* SPDX-License-Identifier: MIT
 * See callgraph.h. */
#include "analyze/samples/callgraph.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "base/banned.h"

struct call {
	uint32_t caller, callee; /* functions */
	uint64_t calls;
	double value;
	path_time time; /* as long as it is added up */
	size_t n_open;  /* how often it is on the path at hand */
};

struct builder {
	const struct stacks *s;
	struct callgraph_node *nodes; /* by function */
	bool *is_seen;
	bool *is_kept;
	size_t n;
	struct map call_index;
	VEC(struct call) calls;
};

static struct call *call_of(struct builder *b, uint32_t caller, uint32_t callee)
{
	uint64_t key = (uint64_t)caller << 32 | callee, at;

	if (!map_find(&b->call_index, key, &at)) {
		at = b->calls.n;
		map_put(&b->call_index, key, at);
		vec_push(&b->calls, (struct call){ .caller = caller, .callee = callee });
	}
	return &b->calls.v[at];
}

/* Recursion counts once, of functions as of calls: where the outermost of them is. */
static void add_paths(struct builder *b)
{
	const struct paths *p = b->s->paths;
	struct paths_sums sums = paths_sums(b->s);
	struct paths_walk w = paths_walk(p);
	size_t *n_open = xcalloc(b->n + 1, sizeof *n_open);
	struct path_sum *of = xcalloc(b->n + 1, sizeof *of); /* by function */

	for (uint32_t at; paths_next(&w, &at);) {
		uint32_t f = p->v[at].function, parent = p->v[at].parent;
		struct call *c = parent ? call_of(b, p->v[parent].function, f) : NULL;

		if (!w.is_entering) {
			n_open[f]--;
			if (c)
				c->n_open--;
			continue;
		}
		b->is_seen[f] = true;
		of[f].self += sums.v[at].self;
		of[f].total += n_open[f]++ ? 0 : sums.v[at].total;
		if (c)
			c->time += c->n_open++ ? 0 : sums.v[at].total;
	}
	for (size_t f = 0; f < b->n; f++) {
		b->nodes[f].self = paths_value(&sums, of[f].self);
		b->nodes[f].total = paths_value(&sums, of[f].total);
	}
	vec_each (&b->calls, c)
		c->value = paths_value(&sums, c->time);
	paths_walk_done(&w);
	free(n_open);
	free(of);
	paths_sums_done(&sums);
}

static void add_exact(struct builder *b, const struct exact *x)
{
	for (size_t i = 0; i < x->n_functions; i++) {
		const struct exact_function *f = &x->functions[i];

		b->nodes[f->function] = (struct callgraph_node){
			.calls = saturated_sum(f->cost.calls, f->cost.resumes),
			.self = f->cost.self,
			.total = f->cost.total
		};
		b->is_seen[f->function] = true;
	}
	for (size_t i = 0; i < x->n_edges; i++)
		vec_push(&b->calls,
			(struct call){ .caller = x->functions[x->edges[i].caller].function,
				.callee = x->functions[x->edges[i].callee].function,
				.calls = saturated_sum(
					x->edges[i].cost.calls, x->edges[i].cost.resumes),
				.value = x->edges[i].cost.total });
}

/* Keeps what can be reached from functions of that name, along calls or against them. */
static void keep_reachable(struct builder *b, const char *pattern, bool downwards)
{
	bool *found = xcalloc(b->n + 1, sizeof *found);
	size_t *first = xcalloc(b->n + 1, sizeof *first),      /* call + 1 of each function … */
		*next = xcalloc(b->calls.n + 1, sizeof *next); /* … and the one after each */
	VEC(uint32_t) open = VEC_INIT;

	for (size_t i = 0; i < b->calls.n; i++) {
		const struct call *c = &b->calls.v[i];
		size_t *list = &first[downwards ? c->caller : c->callee];

		next[i] = *list;
		*list = i + 1;
	}
	for (uint32_t f = 0; f < b->n; f++) {
		found[f] = fnmatch(pattern, frames_function(b->s->frames, f)->name, 0) == 0;
		if (found[f])
			vec_push(&open, f);
	}
	while (open.n)
		for (size_t i = first[open.v[--open.n]]; i; i = next[i - 1]) {
			const struct call *c = &b->calls.v[i - 1];
			uint32_t to = downwards ? c->callee : c->caller;

			if (!found[to])
				vec_push(&open, to);
			found[to] = true;
		}
	for (uint32_t f = 0; f < b->n; f++)
		b->is_kept[f] &= found[f];
	vec_done(&open);
	free(first);
	free(next);
	free(found);
}

static int by_total(const void *a, const void *b)
{
	const struct callgraph_node *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static int by_caller(const void *a, const void *b)
{
	const struct callgraph_edge *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
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
			g->n_left_out += b->is_seen[f];
	if (g->n_nodes)
		qsort(nodes, g->n_nodes, sizeof *nodes, by_total);
	for (size_t i = 0; i < g->n_nodes; i++)
		index[nodes[i].function] = i;
	vec_each (&b->calls, c)
		if (b->is_kept[c->caller] && b->is_kept[c->callee] && c->value >= edge_s)
			edges[g->n_edges++] = (struct callgraph_edge){ index[c->caller],
				index[c->callee], c->calls, c->value };
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
	b.is_seen = arena_new_n(a, bool, b.n + 1);
	b.is_kept = arena_new_n(a, bool, b.n + 1);
	g->value = x ? x->self : s->value;
	if (x)
		add_exact(&b, x);
	else
		add_paths(&b);
	for (uint32_t f = 0; f < b.n; f++) {
		b.nodes[f].function = f;
		b.is_kept[f] = b.is_seen[f] && b.nodes[f].total >= o->node_share * g->value;
	}
	if (o->root)
		keep_reachable(&b, o->root, true);
	if (o->leaf)
		keep_reachable(&b, o->leaf, false);
	finish(&b, a, o->edge_share * g->value, g);
	vec_done(&b.calls);
	map_done(&b.call_index);
	return g;
}
