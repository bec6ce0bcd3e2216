/* SPDX-License-Identifier: MIT
 * See parted_tree.h. */
#include "analyze/samples/parted_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/flametree.h"
#include "base/arena.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct call { /* that does not lead back */
	uint32_t caller, callee;
	double weight, calls;
	double share; /* of the callee's time */
};

struct parted_node {
	uint32_t function; /* index in exact's functions */
	uint32_t parent;
	double part, total; /* part: of the function's time */
	double self;
	uint32_t first, next; /* children, in the order in which they were made; 0: none */
};

struct parted {
	const struct exact *x;
	struct call *calls; /* by caller, the longest first; those that lead back are taken out */
	size_t *first;      /* by function, n + 1 */
	size_t n_calls;
	double *self, *total;          /* by function: its own time, and that of its whole tree */
	double *root;                  /* by function: the part of its time that nobody called */
	uint32_t *order;               /* functions, callees before callers */
	VEC(struct parted_node) nodes; /* 0: the root */
	VEC(uint32_t) heap;            /* nodes that may get children, the widest first */
};

/* ---- the graph ------------------------------------------------------------------------------- */

static int by_caller(const void *a, const void *b)
{
	const struct call *p = a, *q = b;

	if (p->caller != q->caller)
		return p->caller < q->caller ? -1 : 1;
	if (p->weight < q->weight || p->weight > q->weight)
		return p->weight > q->weight ? -1 : 1;
	return (p->callee > q->callee) - (p->callee < q->callee);
}

static double positive(double value)
{
	return value > 0 && isfinite(value) ? value : 0;
}

static void index_calls(struct parted *p)
{
	size_t at = 0;

	for (size_t f = 0; f < p->x->n_functions; f++) {
		p->first[f] = at;
		while (at < p->n_calls && p->calls[at].caller == f)
			at++;
	}
	p->first[p->x->n_functions] = at;
}

static void load(struct parted *p)
{
	for (size_t i = 0; i < p->x->n_edges; i++) {
		const struct exact_edge *e = &p->x->edges[i];

		p->calls[p->n_calls++] = (struct call){ .caller = e->caller,
			.callee = e->callee,
			.weight = positive(e->cost.total),
			.calls = (double)e->cost.calls };
	}
	qsort(p->calls, p->n_calls, sizeof *p->calls, by_caller);
	index_calls(p);
	for (size_t f = 0; f < p->x->n_functions; f++)
		p->self[f] = positive(p->x->functions[f].cost.self);
}

/* Depth first from one function, without recursion of our own: marks calls of what is open, and puts functions into the order in
 * which they are done. */
static void explore(
	struct parted *p, uint32_t from, unsigned char *state, bool *leads_back, size_t *n_done)
{
	enum { NEW, OPEN, DONE };
	struct place {
		uint32_t function;
		size_t next;
	};
	VEC(struct place) open = VEC_INIT;

	if (state[from] != NEW)
		return;
	state[from] = OPEN;
	vec_push(&open, (struct place){ from, p->first[from] });
	while (open.n) {
		struct place *top = &open.v[open.n - 1];
		uint32_t callee;

		if (top->next == p->first[top->function + 1]) {
			state[top->function] = DONE;
			p->order[(*n_done)++] = top->function;
			open.n--;
			continue;
		}
		callee = p->calls[top->next].callee;
		leads_back[top->next++] = state[callee] == OPEN;
		if (state[callee] == NEW) {
			state[callee] = OPEN;
			vec_push(&open, (struct place){ callee, p->first[callee] });
		}
	}
	vec_done(&open);
}

struct sized {
	uint32_t node;
	double total;
};

static int by_total(const void *a, const void *b)
{
	const struct sized *p = a, *q = b;

	if (p->total < q->total || p->total > q->total)
		return p->total > q->total ? -1 : 1;
	return (p->node > q->node) - (p->node < q->node);
}

/* Functions that nobody else calls come first; what is left are cycles that nobody enters, which begin at the longest. */
static void cut_cycles(struct parted *p)
{
	size_t n = p->x->n_functions, n_done = 0, kept = 0;
	struct sized *longest = xcalloc(n + 1, sizeof *longest);
	unsigned char *state = xcalloc(n + 1, 1);
	bool *is_called = xcalloc(n + 1, sizeof *is_called),
	     *leads_back = xcalloc(p->n_calls + 1, sizeof *leads_back);

	for (size_t i = 0; i < p->n_calls; i++)
		is_called[p->calls[i].callee] |= p->calls[i].caller != p->calls[i].callee;
	for (uint32_t f = 0; f < n; f++)
		if (!is_called[f])
			explore(p, f, state, leads_back, &n_done);
	for (uint32_t f = 0; f < n; f++)
		longest[f] = (struct sized){ f, positive(p->x->functions[f].cost.total) };
	qsort(longest, n, sizeof *longest, by_total);
	for (size_t i = 0; i < n; i++)
		explore(p, longest[i].node, state, leads_back, &n_done);
	for (size_t i = 0; i < p->n_calls; i++)
		if (!leads_back[i])
			p->calls[kept++] = p->calls[i];
	p->n_calls = kept;
	index_calls(p);
	free(longest);
	free(state);
	free(is_called);
	free(leads_back);
}

/* ---- parting --------------------------------------------------------------------------------- */

/* Which part of a function's time each of its callers gets, and which nobody. */
static void part(struct parted *p)
{
	size_t n = p->x->n_functions;
	double *weight = xcalloc(n + 1, sizeof *weight), *calls = xcalloc(n + 1, sizeof *calls),
	       *counted = xcalloc(n + 1, sizeof *counted);
	uint32_t *n_callers = xcalloc(n + 1, sizeof *n_callers);

	for (size_t i = 0; i < p->x->n_edges; i++)
		counted[p->x->edges[i].callee] += (double)p->x->edges[i].cost.calls;
	for (size_t i = 0; i < p->n_calls; i++) {
		weight[p->calls[i].callee] += p->calls[i].weight;
		calls[p->calls[i].callee] += p->calls[i].calls;
		n_callers[p->calls[i].callee]++;
	}
	for (size_t f = 0; f < n; f++) {
		double alone = positive((double)p->x->functions[f].cost.calls - counted[f]);

		p->root[f] = !n_callers[f] ? 1 : alone > 0 ? alone / (alone + calls[f]) : 0;
	}
	for (size_t i = 0; i < p->n_calls; i++) {
		struct call *c = &p->calls[i];
		uint32_t f = c->callee;

		c->share = (1 - p->root[f]) *
			(weight[f] > 0                 ? c->weight / weight[f]
					: calls[f] > 0 ? c->calls / calls[f]
						       : 1.0 / n_callers[f]);
	}
	free(weight);
	free(calls);
	free(counted);
	free(n_callers);
	for (size_t k = 0; k < n; k++) {
		uint32_t f = p->order[k];

		p->total[f] = p->self[f];
		for (size_t i = p->first[f]; i < p->first[f + 1]; i++)
			p->total[f] += p->calls[i].share * p->total[p->calls[i].callee];
	}
}

/* ---- the widest boxes ------------------------------------------------------------------------ */

static bool is_wider(const struct parted *p, uint32_t a, uint32_t b)
{
	const struct parted_node *m = &p->nodes.v[a], *n = &p->nodes.v[b];

	return m->total > n->total || (m->total >= n->total && a < b);
}

static void heap_push(struct parted *p, uint32_t node)
{
	size_t at = p->heap.n;

	vec_push(&p->heap, node);
	while (at && is_wider(p, p->heap.v[at], p->heap.v[(at - 1) / 2])) {
		uint32_t other = p->heap.v[(at - 1) / 2];

		p->heap.v[(at - 1) / 2] = p->heap.v[at];
		p->heap.v[at] = other;
		at = (at - 1) / 2;
	}
}

static uint32_t heap_pop(struct parted *p)
{
	uint32_t widest = p->heap.v[0];
	size_t at = 0;

	p->heap.v[0] = p->heap.v[--p->heap.n];
	for (;;) {
		size_t child = 2 * at + 1, best = at;
		uint32_t other;

		for (size_t k = child; k < child + 2 && k < p->heap.n; k++)
			if (is_wider(p, p->heap.v[k], p->heap.v[best]))
				best = k;
		if (best == at)
			return widest;
		other = p->heap.v[at];
		p->heap.v[at] = p->heap.v[best];
		p->heap.v[best] = other;
		at = best;
	}
}

/* Parents need not look for the end of their children: they are put in front. */
static void add_node(struct parted *p, uint32_t parent, uint32_t function, double of)
{
	struct parted_node x = { .function = function,
		.parent = parent,
		.part = of,
		.total = of * p->total[function],
		.next = p->nodes.v[parent].first };

	if (!(x.total > 0))
		return;
	x.self = x.total; /* until it has children */
	p->nodes.v[parent].first = (uint32_t)p->nodes.n;
	vec_push(&p->nodes, x);
	heap_push(p, (uint32_t)p->nodes.n - 1);
}

static void expand(struct parted *p, uint32_t node)
{
	uint32_t f = p->nodes.v[node].function;
	double of = p->nodes.v[node].part;

	for (size_t i = p->first[f]; i < p->first[f + 1]; i++)
		add_node(p, node, p->calls[i].callee, of * p->calls[i].share);
	p->nodes.v[node].self = of * p->self[f]; /* as it is, and not by differences */
}

static void grow(struct parted *p)
{
	vec_push(&p->nodes, (struct parted_node){ 0 });
	for (uint32_t f = 0; f < p->x->n_functions; f++)
		add_node(p, 0, f, p->root[f]);
	while (p->heap.n && p->nodes.n < PARTED_TREE_NODES)
		expand(p, heap_pop(p));
}

/* ---- as a flame tree ------------------------------------------------------------------------- */

struct arrays {
	uint32_t *parent, *end, *function, *depth, *n_children, *n_samples;
	double *x, *total, *self;
};

/* From the leaves up: what a node's children and its self come to is its total, whatever was rounded. */
static void add_up(struct parted *p)
{
	for (size_t i = 0; i < p->nodes.n; i++)
		p->nodes.v[i].total = i ? p->nodes.v[i].self : 0;
	for (size_t i = p->nodes.n; i-- > 1;)
		p->nodes.v[p->nodes.v[i].parent].total += p->nodes.v[i].total;
}

static void put(const struct parted *p, struct arrays *t, uint32_t at, uint32_t node,
	uint32_t parent, double x)
{
	const struct parted_node *n = &p->nodes.v[node];

	t->parent[at] = parent;
	t->function[at] = node ? p->x->functions[n->function].function : UINT32_MAX;
	t->depth[at] = node ? t->depth[parent] + 1 : 0;
	t->x[at] = x;
	t->total[at] = n->total;
	t->self[at] = node ? n->self : 0;
}

/* Depth first, children by total. */
static void flatten(const struct parted *p, struct arrays *t)
{
	struct place {
		uint32_t at, node; /* node: of p */
		size_t first, next, n;
		double x;
	};
	VEC(struct place) open = VEC_INIT;
	VEC(struct sized) children = VEC_INIT;
	uint32_t n = 0, node = 0, parent = 0;
	double x = 0;

	for (;;) {
		struct place place = { .at = n, .node = node, .first = children.n, .x = x };

		put(p, t, n++, node, parent, x);
		for (uint32_t c = p->nodes.v[node].first; c; c = p->nodes.v[c].next)
			vec_push(&children, (struct sized){ c, p->nodes.v[c].total });
		place.n = children.n - place.first;
		if (place.n)
			qsort(children.v + place.first, place.n, sizeof *children.v, by_total);
		t->n_children[place.at] = (uint32_t)place.n;
		vec_push(&open, place);
		while (open.n && open.v[open.n - 1].next == open.v[open.n - 1].n) {
			t->end[open.v[open.n - 1].at] = n;
			children.n = open.v[open.n - 1].first;
			open.n--;
		}
		if (!open.n)
			break;
		parent = open.v[open.n - 1].at;
		x = open.v[open.n - 1].x;
		node = children.v[open.v[open.n - 1].first + open.v[open.n - 1].next++].node;
		open.v[open.n - 1].x += p->nodes.v[node].total;
	}
	vec_done(&open);
	vec_done(&children);
}

const struct flametree *parted_tree_build(struct arena *a, const struct exact *x)
{
	size_t n = x->n_functions;
	struct parted p = { .x = x,
		.calls = xcalloc(x->n_edges + 1, sizeof *p.calls),
		.first = xcalloc(n + 1, sizeof *p.first),
		.self = xcalloc(n + 1, sizeof *p.self),
		.total = xcalloc(n + 1, sizeof *p.total),
		.root = xcalloc(n + 1, sizeof *p.root),
		.order = xcalloc(n + 1, sizeof *p.order) };
	struct flametree *tree = arena_new(a, struct flametree);
	struct arrays t;

	load(&p);
	cut_cycles(&p);
	part(&p);
	grow(&p);
	add_up(&p);
	t = (struct arrays){ .parent = arena_new_n(a, uint32_t, p.nodes.n),
		.end = arena_new_n(a, uint32_t, p.nodes.n),
		.function = arena_new_n(a, uint32_t, p.nodes.n),
		.depth = arena_new_n(a, uint32_t, p.nodes.n),
		.n_children = arena_new_n(a, uint32_t, p.nodes.n),
		.n_samples = arena_new_n(a, uint32_t, p.nodes.n),
		.x = arena_new_n(a, double, p.nodes.n),
		.total = arena_new_n(a, double, p.nodes.n),
		.self = arena_new_n(a, double, p.nodes.n) };
	flatten(&p, &t);
	*tree = (struct flametree){ .n = p.nodes.n,
		.parent = t.parent,
		.end = t.end,
		.function = t.function,
		.depth = t.depth,
		.n_children = t.n_children,
		.x = t.x,
		.total = t.total,
		.self = t.self,
		.n_samples = t.n_samples };
	free(p.calls);
	free(p.first);
	free(p.self);
	free(p.total);
	free(p.root);
	free(p.order);
	vec_done(&p.nodes);
	vec_done(&p.heap);
	return tree;
}
