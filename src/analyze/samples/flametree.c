/* SPDX-License-Identifier: MIT
 * See flametree.h. Nodes are first made in the order of the stacks, then put in depth-first order. */
#include "analyze/samples/flametree.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/calls/nodes.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "base/trie.h"
#include "base/vec.h"
#include "base/banned.h"

struct context { /* beside the trie's */
	uint32_t parent, n_samples;
	double self, total;
};

struct builder {
	struct trie trie;          /* keys are functions */
	VEC(struct context) nodes; /* parents before children */
	bool has_calls;
	VEC(uint64_t) n_calls; /* where calls were traced */
};

/* ---- making ---------------------------------------------------------------------------------- */

static void add_node(struct builder *b, uint32_t parent)
{
	vec_push(&b->nodes, (struct context){ .parent = parent });
	if (b->has_calls)
		vec_push(&b->n_calls, 0);
}

/* UINT32_MAX: there is no room for it. */
static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t function)
{
	uint32_t node = trie_find(&b->trie, parent, function);

	if (node)
		return node;
	if (b->nodes.n == FLAMETREE_NODES)
		return UINT32_MAX;
	add_node(b, parent);
	return trie_add(&b->trie, parent, function);
}

static uint32_t sum_samples(uint32_t a, uint64_t b)
{
	return b < UINT32_MAX - a ? a + (uint32_t)b : UINT32_MAX;
}

/* The node of each path. Below one that has none, all belong to the last that has. */
static uint32_t *make_nodes(struct builder *b, const struct paths *p)
{
	uint32_t *nodes = xcalloc(p->n, sizeof *nodes);
	bool *is_cut = xcalloc(p->n, sizeof *is_cut);

	for (size_t i = 1; i < p->n; i++) {
		uint32_t parent = p->v[i].parent, node = nodes[parent];

		is_cut[i] = is_cut[parent];
		if (!is_cut[i])
			node = child_of(b, node, p->v[i].function);
		is_cut[i] |= node == UINT32_MAX;
		nodes[i] = node == UINT32_MAX ? nodes[parent] : node;
	}
	free(is_cut);
	return nodes;
}

static void add_place(struct builder *b, uint32_t node, const struct stack_place *p, double scale)
{
	b->nodes.v[node].self += p->value * scale;
	b->nodes.v[node].n_samples = sum_samples(b->nodes.v[node].n_samples, p->n_samples);
	if (b->has_calls)
		saturated_add(&b->n_calls.v[node], p->n_calls);
}

/* Totals of parents; children come after them. */
static void add_up(struct builder *b)
{
	for (size_t i = b->nodes.n; i-- > 0;) {
		struct context *x = &b->nodes.v[i], *parent = &b->nodes.v[x->parent];

		x->total += x->self;
		if (!i)
			break;
		parent->total += x->total;
		parent->n_samples = sum_samples(parent->n_samples, x->n_samples);
	}
}

/* ---- putting in order ------------------------------------------------------------------------ */

static bool is_before(const struct builder *b, uint32_t x, uint32_t y)
{
	const struct context *v = b->nodes.v;

	if (v[x].total != v[y].total)
		return v[x].total > v[y].total;
	return b->trie.v.v[x].key < b->trie.v.v[y].key;
}

static uint32_t merge(struct builder *b, uint32_t x, uint32_t y)
{
	struct trie_node *v = b->trie.v.v;
	uint32_t first = 0, *to = &first;

	while (x && y) {
		uint32_t *least = is_before(b, x, y) ? &x : &y;

		*to = *least;
		to = &v[*least].next;
		*least = *to;
	}
	*to = x ? x : y;
	return first;
}

/* The list of siblings that begins there, sorted: most first. Runs of 1, 2, 4 … are merged, so without recursion. */
static uint32_t sorted(struct builder *b, uint32_t at)
{
	uint32_t runs[33] = { 0 }, n = 0, all = 0;

	while (at) {
		uint32_t run = at, i = 0;

		at = b->trie.v.v[at].next;
		b->trie.v.v[run].next = 0;
		for (; runs[i]; i++) {
			run = merge(b, runs[i], run);
			runs[i] = 0;
		}
		runs[i] = run;
		n = i > n ? i : n;
	}
	for (uint32_t i = 0; i <= n; i++)
		all = merge(b, runs[i], all);
	return all;
}

struct columns {
	uint32_t *parent, *end, *function, *n_children, *n_samples;
	uint32_t *depth;
	double *x, *total, *self;
	uint64_t *n_calls;
};

static struct columns new_columns(struct arena *a, struct flametree *t, size_t n, bool has_calls)
{
	struct columns c = { .parent = arena_new_n(a, uint32_t, n),
		.end = arena_new_n(a, uint32_t, n),
		.function = arena_new_n(a, uint32_t, n),
		.depth = arena_new_n(a, uint32_t, n),
		.n_children = arena_new_n(a, uint32_t, n),
		.x = arena_new_n(a, double, n),
		.total = arena_new_n(a, double, n),
		.self = arena_new_n(a, double, n),
		.n_samples = arena_new_n(a, uint32_t, n),
		.n_calls = has_calls ? arena_new_n(a, uint64_t, n) : NULL };

	*t = (struct flametree){ .n = n,
		.parent = c.parent,
		.end = c.end,
		.function = c.function,
		.depth = c.depth,
		.n_children = c.n_children,
		.x = c.x,
		.total = c.total,
		.self = c.self,
		.n_samples = c.n_samples,
		.n_calls = c.n_calls };
	return c;
}

static void put(const struct builder *b, uint32_t at, uint32_t parent, double x, uint32_t to,
	struct columns *c)
{
	const struct context *from = &b->nodes.v[at];

	c->parent[to] = parent;
	c->depth[to] = to ? c->depth[parent] + 1 : 0;
	c->function[to] = to ? b->trie.v.v[at].key : UINT32_MAX;
	c->total[to] = from->total;
	c->self[to] = from->self;
	c->n_samples[to] = from->n_samples;
	if (c->n_calls)
		c->n_calls[to] = b->n_calls.v[at];
	c->x[to] = x;
	if (to)
		c->n_children[parent]++;
}

struct level { /* a node whose children are being put */
	uint32_t place;
	uint32_t next; /* child */
	double x;      /* where it begins */
};

/* Without recursion: a stack may be as deep as a program recursed. */
static void put_in_order(struct builder *b, struct columns *c)
{
	VEC(struct level) open = VEC_INIT;
	uint32_t n_put = 1;

	put(b, 0, 0, 0, 0, c);
	vec_push(&open, (struct level){ .next = sorted(b, b->trie.v.v[0].child) });
	while (open.n) {
		struct level *l = &open.v[open.n - 1];
		uint32_t at = l->next;

		if (!at) {
			c->end[l->place] = n_put;
			open.n--;
			continue;
		}
		put(b, at, l->place, l->x, n_put, c);
		l->next = b->trie.v.v[at].next;
		l->x += b->nodes.v[at].total;
		vec_push(&open,
			(struct level){ n_put, sorted(b, b->trie.v.v[at].child), c->x[n_put] });
		n_put++;
	}
	vec_done(&open);
}

const struct flametree *flametree_build(struct arena *a, const struct stacks *s, double lost_share)
{
	struct flametree *t = arena_new(a, struct flametree);
	struct builder b = { .has_calls = s->nodes->n > 0 };
	struct columns c;
	uint32_t *nodes;

	trie_init(&b.trie);
	add_node(&b, 0);
	nodes = make_nodes(&b, s->paths);
	for (size_t i = 0; i < s->n; i++)
		if (s->paths->of_place[i])
			add_place(&b, nodes[s->paths->of_place[i]], &s->v[i], 1 - lost_share);
	free(nodes);
	map_done(&b.trie.many);
	add_up(&b);
	c = new_columns(a, t, b.nodes.n, b.has_calls);
	put_in_order(&b, &c);
	trie_done(&b.trie);
	vec_done(&b.nodes);
	vec_done(&b.n_calls);
	return t;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool is_outside(const struct flametree *t, uint32_t node, struct flametree_window w)
{
	return w.to > 0 && (t->x[node] >= w.to || t->x[node] + t->total[node] <= w.from);
}

/* open[d]: the box at depth d below the node that is being filled. */
static size_t slice_once(const struct flametree *t, uint32_t node, double at_least,
	struct flametree_window window, struct flametree_box *to, size_t n_most)
{
	VEC(size_t) open = VEC_INIT;
	size_t n = 0;

	for (uint32_t at = node; at < t->end[node];) {
		size_t depth = t->depth[at] - t->depth[node];

		if (at != node && t->total[at] < at_least) {
			/* So are its siblings after it, but for time. */
			at = t->is_time ? t->end[at] : t->end[t->parent[at]];
			continue;
		}
		if (at != node && is_outside(t, at, window)) {
			at = t->end[at];
			continue;
		}
		if (n == n_most) {
			n = n_most + 1;
			break;
		}
		open.n = depth;
		vec_push(&open, n);
		to[n++] =
			(struct flametree_box){ at, t->n_children[at], t->total[at] - t->self[at] };
		if (depth) {
			to[open.v[depth - 1]].n_hidden--;
			to[open.v[depth - 1]].hidden -= t->total[at];
		}
		at++;
	}
	vec_done(&open);
	return n;
}

size_t flametree_slice(const struct flametree *t, uint32_t node, double at_least,
	struct flametree_window window, struct flametree_box *to, size_t n_most)
{
	double limit = at_least > 0 ? at_least : t->total[node] / 1e6;
	size_t n = slice_once(t, node, at_least, window, to, n_most);

	for (; n > n_most; limit *= 2)
		n = slice_once(t, node, limit, window, to, n_most);
	return n;
}

static uint64_t key_below(uint64_t parent, uint64_t function)
{
	return hash_u64(parent ^ function) | 1; /* never 0, the root's */
}

static uint64_t function_hash(const struct stacks *s, uint32_t function)
{
	const struct stack_function *f = frames_function(s->frames, function);

	return hash_u64(hash_bytes(f->name, strlen(f->name)) ^ f->first_line) ^
		hash_bytes(f->file, strlen(f->file));
}

uint64_t flametree_key_below(uint64_t parent, const struct stacks *s, uint32_t function)
{
	return key_below(parent, function_hash(s, function));
}

uint64_t flametree_key(const struct flametree *t, const struct stacks *s, uint32_t node)
{
	VEC(uint32_t) path = VEC_INIT;
	uint64_t key = 0;

	for (; node; node = t->parent[node])
		vec_push(&path, t->function[node]);
	while (path.n)
		key = flametree_key_below(key, s, path.v[--path.n]);
	vec_done(&path);
	return key;
}

uint32_t flametree_find(const struct flametree *t, const struct stacks *s, uint64_t key)
{
	size_t n_functions = frames_n_functions(s->frames);
	uint64_t *hashes = xcalloc(n_functions + 1, sizeof *hashes);
	VEC(uint64_t) keys = VEC_INIT; /* of the nodes above, by depth */
	uint32_t found = 0;

	for (uint32_t i = 0; i < n_functions; i++)
		hashes[i] = function_hash(s, i);
	vec_push(&keys, 0);
	for (uint32_t i = 1; i < t->n && !found; i++) {
		uint64_t own = key_below(keys.v[t->depth[i] - 1], hashes[t->function[i]]);

		keys.n = t->depth[i];
		vec_push(&keys, own);
		if (own == key)
			found = i;
	}
	vec_done(&keys);
	free(hashes);
	return found;
}
