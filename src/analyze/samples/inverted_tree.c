/* SPDX-License-Identifier: MIT
 * See inverted_tree.h. A node stands for nodes of the tree it was made of, its members: those of its children are found by going a step
 * from each, up or down. */
#include "analyze/samples/inverted_tree.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyze/samples/stacks.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum {
	FIND_NODES = 1000000, /* that are made to find one */
	STEPS = 20000000, /* from members, for all nodes: the levels above a recursion have as many as it is deep, each */
};

struct member {
	uint32_t at;        /* node of the tree */
	uint32_t of;        /* node of the tree whose time it is */
	uint32_t n_samples; /* that go with it */
};

struct item {
	uint32_t function;
	struct member member;
};

struct group { /* of items with the same function: a child */
	uint32_t first, n, function, n_samples;
	double total, self;
	uint64_t n_calls;
};

struct node { /* beside the columns */
	uint32_t first_child;
	size_t first_member;
	uint32_t n_members; /* 0: its children are made */
};

struct inverted_tree {
	const struct flametree *tree;
	enum inverted_tree_direction direction;
	VEC(struct member) members;
	VEC(struct item) items;    /* of the node at hand, as they came … */
	VEC(struct member) sorted; /* … and group by group */
	VEC(struct group) groups;
	VEC(uint32_t) group_of; /* by function: index + 1; all 0 between nodes */
	size_t n_steps;
	VEC(struct node) nodes;
	VEC(uint32_t) parent, function, n_children, n_samples;
	VEC(uint32_t) depth;
	VEC(double) x, total, self;
	VEC(uint64_t) n_calls;
	struct flametree columns;
};

/* ---- making ---------------------------------------------------------------------------------- */

static void add_node(struct inverted_tree *t, uint32_t parent, const struct group *g,
	size_t first_member, double x)
{
	bool is_root = !t->nodes.n;

	vec_push(&t->nodes, (struct node){ .first_member = first_member, .n_members = g->n });
	vec_push(&t->parent, parent);
	vec_push(&t->function, g->function);
	vec_push(&t->depth, is_root ? 0 : t->depth.v[parent] + 1);
	vec_push(&t->n_children, 0);
	vec_push(&t->n_samples, g->n_samples);
	vec_push(&t->x, x);
	vec_push(&t->total, g->total);
	vec_push(&t->self, g->self);
	vec_push(&t->n_calls, g->n_calls);
}

/* One step from a member of a node; upwards the time of a stack that begins there is the node's own. */
static void step(struct inverted_tree *t, uint32_t node, struct member m)
{
	const struct flametree *tree = t->tree;
	uint32_t next = node ? tree->parent[m.at] : m.at;

	if (node && t->direction == INVERTED_TREE_CALLEES_OF) {
		for (uint32_t c = m.at + 1; c < tree->end[m.at]; c = tree->end[c])
			vec_push(&t->items,
				(struct item){ tree->function[c], { c, c, tree->n_samples[c] } });
	} else if (next) {
		m.at = next;
		vec_push(&t->items, (struct item){ tree->function[next], m });
	} else {
		t->self.v[node] += t->direction == INVERTED_TREE_CALLERS ? tree->self[m.of]
									 : tree->total[m.of];
	}
}

static uint32_t most_samples(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void sum_up(const struct inverted_tree *t, struct group *g)
{
	const struct flametree *tree = t->tree;
	uint64_t n_samples = 0;

	for (uint32_t i = g->first; i < g->first + g->n; i++) {
		const struct member *m = &t->sorted.v[i];

		g->total += t->direction == INVERTED_TREE_CALLERS ? tree->self[m->of]
								  : tree->total[m->of];
		n_samples += m->n_samples;
		if (t->direction == INVERTED_TREE_CALLEES_OF)
			g->self += tree->self[m->at];
		if (t->direction == INVERTED_TREE_CALLEES_OF && tree->n_calls)
			saturated_add(&g->n_calls, tree->n_calls[m->at]);
	}
	g->n_samples = most_samples(n_samples);
}

static int by_total(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static struct group *group_of(struct inverted_tree *t, uint32_t function)
{
	while (t->group_of.n <= function)
		vec_push(&t->group_of, 0);
	if (!t->group_of.v[function]) {
		vec_push(&t->groups, (struct group){ .function = function });
		t->group_of.v[function] = (uint32_t)t->groups.n;
	}
	return &t->groups.v[t->group_of.v[function] - 1];
}

static void make_groups(struct inverted_tree *t)
{
	vec_clear(&t->groups);
	vec_each (&t->items, x)
		group_of(t, x->function)->n++;
	for (uint32_t i = 0, first = 0; i < t->groups.n; i++) {
		t->groups.v[i].first = first;
		first += t->groups.v[i].n;
		t->groups.v[i].n = 0;
	}
	vec_clear(&t->sorted);
	vec_reserve(&t->sorted, t->items.n);
	t->sorted.n = t->items.n;
	vec_each (&t->items, x) { /* members come by node, and stay so */
		struct group *g = group_of(t, x->function);

		t->sorted.v[g->first + g->n++] = x->member;
	}
	vec_each (&t->groups, g) {
		t->group_of.v[g->function] = 0;
		sum_up(t, g);
	}
	qsort(t->groups.v, t->groups.n, sizeof *t->groups.v, by_total);
}

/* Where the members of a node's children begin. Upwards there are no more of them than the node had, and they take their place. */
static size_t put_members(struct inverted_tree *t, size_t first, size_t end)
{
	size_t to = t->direction == INVERTED_TREE_CALLEES_OF && end < t->members.n ? t->members.n
										   : first;

	while (t->members.n < to + t->items.n)
		vec_push(&t->members, (struct member){ 0 });
	for (size_t i = 0; i < t->items.n; i++)
		t->members.v[to + i] = t->sorted.v[i];
	return to;
}

/* Gives a node its children, largest first. One that would take too long stays as it is. */
static void expand(struct inverted_tree *t, uint32_t node)
{
	struct node *own = &t->nodes.v[node];
	size_t first = own->first_member, end = first + own->n_members;
	double x = t->x.v[node];

	if (!own->n_members || t->n_steps > STEPS)
		return;
	t->n_steps += own->n_members;
	own->n_members = 0;
	own->first_child = (uint32_t)t->nodes.n;
	vec_clear(&t->items);
	for (size_t i = first; i < end; i++)
		step(t, node, t->members.v[i]);
	if (!t->items.n)
		return;
	make_groups(t);
	if (t->nodes.n + t->groups.n > FLAMETREE_NODES)
		return;
	first = put_members(t, first, end);
	t->n_children.v[node] = (uint32_t)t->groups.n;
	vec_each (&t->groups, g) {
		add_node(t, node, g, first + g->first, x);
		x += g->total;
	}
}

/* ---- beginning ------------------------------------------------------------------------------- */

static uint32_t own_samples(const struct flametree *tree, uint32_t node)
{
	uint64_t below = 0;

	for (uint32_t c = node + 1; c < tree->end[node]; c = tree->end[c])
		below += tree->n_samples[c];
	return below < tree->n_samples[node] ? tree->n_samples[node] - (uint32_t)below : 0;
}

static void begin_at_leaves(struct inverted_tree *t)
{
	for (uint32_t i = 1; i < t->tree->n; i++)
		if (t->tree->self[i] != 0)
			vec_push(&t->members, (struct member){ i, i, own_samples(t->tree, i) });
}

static void begin_at_function(struct inverted_tree *t, uint32_t function)
{
	for (uint32_t i = 1; i < t->tree->n;) {
		if (t->tree->function[i] != function) {
			i++;
			continue;
		}
		vec_push(&t->members, (struct member){ i, i, t->tree->n_samples[i] });
		i = t->tree->end[i];
	}
}

struct inverted_tree *inverted_tree_new(
	const struct flametree *tree, enum inverted_tree_direction direction, uint32_t function)
{
	struct inverted_tree *t = xcalloc(1, sizeof *t);
	struct group all = { .function = UINT32_MAX };
	uint64_t n_samples = 0;

	t->tree = tree;
	t->direction = direction;
	if (direction == INVERTED_TREE_CALLERS)
		begin_at_leaves(t);
	else
		begin_at_function(t, function);
	vec_each (&t->members, m) {
		all.total +=
			direction == INVERTED_TREE_CALLERS ? tree->self[m->of] : tree->total[m->of];
		n_samples += m->n_samples;
	}
	all.n = (uint32_t)t->members.n;
	all.n_samples = most_samples(n_samples);
	add_node(t, 0, &all, 0, 0);
	expand(t, 0);
	return t;
}

void inverted_tree_free(struct inverted_tree *t)
{
	if (!t)
		return;
	vec_done(&t->members);
	vec_done(&t->items);
	vec_done(&t->sorted);
	vec_done(&t->groups);
	vec_done(&t->group_of);
	vec_done(&t->nodes);
	vec_done(&t->parent);
	vec_done(&t->function);
	vec_done(&t->n_children);
	vec_done(&t->n_samples);
	vec_done(&t->depth);
	vec_done(&t->x);
	vec_done(&t->total);
	vec_done(&t->self);
	vec_done(&t->n_calls);
	free(t);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct open { /* a node whose children are being shown */
	uint32_t node, next;
	size_t box;
};

static size_t slice_once(struct inverted_tree *t, uint32_t node, double at_least,
	struct flametree_box *to, size_t n_most)
{
	VEC(struct open) open = VEC_INIT;
	size_t n = 0;

	for (uint32_t at = node;;) {
		expand(t, at);
		vec_push(&open, (struct open){ at, t->nodes.v[at].first_child, n });
		/* Children that were not made are some, at least. */
		to[n++] = (struct flametree_box){ at,
			t->nodes.v[at].n_members ? 1 : t->n_children.v[at],
			t->total.v[at] - t->self.v[at] };
		while (open.n) {
			struct open *o = &open.v[open.n - 1];
			struct flametree_box *box = &to[o->box];

			at = o->next;
			if (at < t->nodes.v[o->node].first_child + t->n_children.v[o->node] &&
				t->total.v[at] >= at_least) {
				o->next++;
				box->n_hidden--;
				box->hidden -= t->total.v[at];
				break;
			}
			open.n--;
		}
		if (!open.n || n == n_most)
			break;
	}
	n = open.n ? n_most + 1 : n;
	vec_done(&open);
	return n;
}

size_t inverted_tree_slice(struct inverted_tree *t, uint32_t node, double at_least,
	struct flametree_box *to, size_t n_most)
{
	double limit = at_least > 0 ? at_least : t->total.v[node] / 1e6;
	size_t n = slice_once(t, node, at_least, to, n_most);

	for (; n > n_most; limit *= 2)
		n = slice_once(t, node, limit, to, n_most);
	return n;
}

const struct flametree *inverted_tree_nodes(struct inverted_tree *t)
{
	t->columns = (struct flametree){ .n = t->nodes.n,
		.parent = t->parent.v,
		.function = t->function.v,
		.depth = t->depth.v,
		.n_children = t->n_children.v,
		.x = t->x.v,
		.total = t->total.v,
		.self = t->self.v,
		.n_samples = t->n_samples.v,
		.n_calls = t->n_calls.v };
	return &t->columns;
}

/* Among the nodes from `from` on; keys are of those before. */
static uint32_t find_made(const struct inverted_tree *t, const struct stacks *s, uint64_t key,
	uint64_t **keys, size_t from)
{
	*keys = xrealloc(*keys, t->nodes.n, sizeof **keys);
	for (size_t i = from; i < t->nodes.n; i++) {
		(*keys)[i] =
			i ? flametree_key_below((*keys)[t->parent.v[i]], s, t->function.v[i]) : 0;
		if (i && (*keys)[i] == key)
			return (uint32_t)i;
	}
	return 0;
}

uint32_t inverted_tree_find(struct inverted_tree *t, const struct stacks *s, uint64_t key)
{
	static const double shares[] = { 1, 1e-3, 1e-5, 1e-7 };
	uint64_t *keys = NULL;
	uint32_t found = 0;
	size_t looked_at = 0;

	for (size_t i = 0; i < sizeof shares / sizeof *shares && !found; i++) {
		for (uint32_t at = 0; at < t->nodes.n && t->nodes.n < FIND_NODES; at++)
			if (t->total.v[at] >= shares[i] * t->total.v[0])
				expand(t, at);
		found = find_made(t, s, key, &keys, looked_at);
		looked_at = t->nodes.n;
	}
	free(keys);
	return found;
}
