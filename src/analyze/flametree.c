/* SPDX-License-Identifier: MIT
 * See flametree.h. Nodes are first made in the order of the stacks, then put in depth-first order. */
#include "analyze/flametree.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/banned.h"

struct node {
	uint32_t parent, function;
	double self, total;
	uint64_t n_samples, n_calls;
};

struct builder {
	VEC(struct node) nodes; /* parents before children */
	struct map children;    /* parent << 32 | function → node */
};

/* ---- making ---------------------------------------------------------------------------------- */

/* UINT32_MAX: there is no room for it. */
static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function, node;

	if (map_find(&b->children, key, &node))
		return (uint32_t)node;
	if (b->nodes.n == FLAMETREE_NODES)
		return UINT32_MAX;
	node = b->nodes.n;
	map_put(&b->children, key, node);
	vec_push(&b->nodes, (struct node){ .parent = parent, .function = function });
	return (uint32_t)node;
}

/* The part of a stack (leaf first) that is shown, as [from, to). Empty where the function is not in it. */
static void choose_part(enum flametree_direction direction, uint32_t function,
	const struct stack_frame *frames, size_t n, size_t *ret_from, size_t *ret_to)
{
	size_t outermost = n;

	*ret_from = 0;
	*ret_to = n;
	if (direction == FLAMETREE_CALLEES || direction == FLAMETREE_CALLERS)
		return;
	while (outermost && frames[outermost - 1].function != function)
		outermost--;
	if (direction == FLAMETREE_CALLEES_OF)
		*ret_to = outermost;
	else
		*ret_from = outermost ? outermost - 1 : n;
}

static void add_stack(struct builder *b, const struct stack_place *p, double scale, bool is_upwards,
	const struct stack_frame *frames, size_t from, size_t to)
{
	uint32_t node = 0, next;

	for (size_t i = from; i < to; i++) {
		next = child_of(b, node, frames[is_upwards ? i : to - 1 - (i - from)].function);
		if (next == UINT32_MAX)
			break;
		node = next;
	}
	b->nodes.v[node].self += p->seconds * scale;
	b->nodes.v[node].n_samples += p->n_samples;
	b->nodes.v[node].n_calls += p->n_calls;
}

/* Totals of parents; children come after them. */
static void add_up(struct builder *b)
{
	for (size_t i = b->nodes.n; i-- > 0;) {
		struct node *x = &b->nodes.v[i], *parent = &b->nodes.v[x->parent];

		x->total += x->self;
		if (!i)
			break;
		parent->total += x->total;
		parent->n_samples += x->n_samples;
	}
}

/* ---- putting in order ------------------------------------------------------------------------ */

struct sibling {
	double total;
	uint32_t node, function;
};

static int by_total(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* first[i] … first[i + 1]: the children of i, in `to`, sorted. */
static void sort_children(const struct builder *b, uint32_t *first, struct sibling *to)
{
	size_t n = b->nodes.n;

	for (size_t i = 1; i < n; i++)
		first[b->nodes.v[i].parent + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 1; i < n; i++) {
		const struct node *x = &b->nodes.v[i];

		to[first[x->parent + 1]++] = (struct sibling){ x->total, (uint32_t)i, x->function };
	}
	for (size_t i = 0; i < n; i++)
		if (first[i + 1] - first[i] > 1)
			qsort(to + first[i], first[i + 1] - first[i], sizeof *to, by_total);
}

struct columns {
	uint32_t *parent, *end, *function, *depth, *n_children;
	double *x, *total, *self;
	uint64_t *n_samples, *n_calls;
};

static struct columns new_columns(struct arena *a, struct flametree *t, size_t n)
{
	struct columns c = { .parent = arena_new_n(a, uint32_t, n),
		.end = arena_new_n(a, uint32_t, n),
		.function = arena_new_n(a, uint32_t, n),
		.depth = arena_new_n(a, uint32_t, n),
		.n_children = arena_new_n(a, uint32_t, n),
		.x = arena_new_n(a, double, n),
		.total = arena_new_n(a, double, n),
		.self = arena_new_n(a, double, n),
		.n_samples = arena_new_n(a, uint64_t, n),
		.n_calls = arena_new_n(a, uint64_t, n) };

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

struct walk {
	uint32_t *next;  /* by node: where its children go on */
	uint32_t *place; /* by node: where it was put */
	double *x;       /* by node: where its next child begins */
};

static void put(
	const struct builder *b, struct walk *w, uint32_t at, uint32_t to, struct columns *c)
{
	const struct node *from = &b->nodes.v[at];

	w->place[at] = to;
	c->parent[to] = at ? w->place[from->parent] : 0;
	c->depth[to] = at ? c->depth[c->parent[to]] + 1 : 0;
	c->function[to] = from->function;
	c->total[to] = from->total;
	c->self[to] = from->self;
	c->n_samples[to] = from->n_samples;
	c->n_calls[to] = from->n_calls;
	c->x[to] = w->x[at] = at ? w->x[from->parent] : 0;
	if (at)
		w->x[from->parent] += from->total;
}

/* Without recursion: a stack may be as deep as STACKS_DEPTH. */
static void put_in_order(const struct builder *b, const uint32_t *first,
	const struct sibling *children, struct columns *c)
{
	size_t n = b->nodes.n;
	struct walk w = { xcalloc(n, sizeof *w.next), xcalloc(n, sizeof *w.place),
		xcalloc(n, sizeof *w.x) };
	uint32_t at = 0, n_put = 0;

	memcpy(w.next, first, n * sizeof *w.next);
	put(b, &w, 0, n_put++, c);
	for (;;) {
		if (w.next[at] < first[at + 1]) {
			at = children[w.next[at]++].node;
			put(b, &w, at, n_put++, c);
			continue;
		}
		c->end[w.place[at]] = n_put;
		c->n_children[w.place[at]] = first[at + 1] - first[at];
		if (!at)
			break;
		at = b->nodes.v[at].parent;
	}
	free(w.next);
	free(w.place);
	free(w.x);
}

const struct flametree *flametree_build(struct arena *a, const struct stacks *s, double lost_share,
	enum flametree_direction direction, uint32_t function)
{
	bool is_upwards = direction == FLAMETREE_CALLERS || direction == FLAMETREE_CALLERS_OF;
	struct stack_frame *frames = xcalloc(STACKS_DEPTH, sizeof *frames);
	struct flametree *t = arena_new(a, struct flametree);
	struct builder b = { .children = MAP_INIT };
	struct sibling *children;
	struct columns c;
	uint32_t *first;

	vec_push(&b.nodes, (struct node){ .function = UINT32_MAX });
	for (size_t i = 0; i < s->n; i++) {
		size_t from, to, n = stacks_frames(s, i, frames);

		choose_part(direction, function, frames, n, &from, &to);
		if (from < to)
			add_stack(&b, &s->v[i], 1 - lost_share, is_upwards, frames, from, to);
	}
	free(frames);
	map_done(&b.children);
	add_up(&b);
	first = xcalloc(b.nodes.n + 2, sizeof *first);
	children = xcalloc(b.nodes.n, sizeof *children);
	sort_children(&b, first, children);
	c = new_columns(a, t, b.nodes.n);
	put_in_order(&b, first, children, &c);
	free(children);
	free(first);
	vec_done(&b.nodes);
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

uint64_t flametree_key(const struct flametree *t, const struct stacks *s, uint32_t node)
{
	VEC(uint32_t) path = VEC_INIT;
	uint64_t key = 0;

	for (; node; node = t->parent[node])
		vec_push(&path, t->function[node]);
	while (path.n)
		key = key_below(key, function_hash(s, path.v[--path.n]));
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
