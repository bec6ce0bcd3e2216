/* SPDX-License-Identifier: MIT
 * See calltree.h. */
#include "analyze/samples/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/calls/nodes.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/trie.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/banned.h"

struct branch {
	struct calltree_node out;
	uint32_t parent, n_children;
	path_time self, total;
	struct interval corrected; /* what total may have been, of traced calls */
};

/* Of a stack without its repetitions. Which of its frames recur is part of it: a stack says so of its own only. */
struct folded {
	uint32_t parent;
	bool is_used; /* by a stack that counts */
};

struct builder {
	const struct stacks *s;
	const bool *keep;
	double scale;
	struct trie trie;          /* keys are functions, × 2, + 1 where they recur */
	VEC(struct folded) folded; /* beside the trie's */
	uint32_t *folded_of;       /* by path */
	VEC(struct branch) nodes;  /* 0 is the root; parents before children */
	struct map children;       /* parent << 32 | function → node */
};

size_t calltree_repeated(const uint32_t *functions, size_t n)
{
	for (size_t period = 1; period <= CALLTREE_PERIOD && 2 * period <= n; period++)
		if (memcmp(functions, functions + period, period * sizeof *functions) == 0)
			return period;
	return 0;
}

/* ---- without repetitions --------------------------------------------------------------------- */

static uint32_t folded_child(struct builder *b, uint32_t parent, uint32_t key)
{
	uint32_t node = trie_find(&b->trie, parent, key);

	if (node)
		return node;
	vec_push(&b->folded, (struct folded){ .parent = parent });
	return trie_add(&b->trie, parent, key);
}

/* The stack whose last n frames recur. */
static uint32_t mark(struct builder *b, uint32_t at, size_t n)
{
	uint32_t keys[CALLTREE_PERIOD];

	for (size_t i = 0; i < n; i++) {
		keys[i] = b->trie.v.v[at].key | 1;
		at = b->folded.v[at].parent;
	}
	while (n)
		at = folded_child(b, at, keys[--n]);
	return at;
}

/* A stack and a frame more. */
static uint32_t push(struct builder *b, uint32_t at, uint32_t function)
{
	uint32_t functions[2 * CALLTREE_PERIOD] = { function };
	size_t n = 1, again;

	for (uint32_t up = at; up && n < 2 * CALLTREE_PERIOD; up = b->folded.v[up].parent)
		functions[n++] = b->trie.v.v[up].key >> 1;
	again = calltree_repeated(functions, n);
	if (!again)
		return folded_child(b, at, function << 1);
	for (size_t i = 1; i < again; i++)
		at = b->folded.v[at].parent;
	return mark(b, at, again);
}

/* Where each path is once it is folded, and whether a stack there counts. */
static void fold(struct builder *b, bool *is_kept)
{
	const struct paths *p = b->s->paths;

	trie_init(&b->trie);
	vec_push(&b->folded, (struct folded){ 0 });
	is_kept[0] = !b->keep;
	for (size_t i = 1; i < p->n; i++) {
		const struct path *x = &p->v[i];

		is_kept[i] = is_kept[x->parent] || b->keep[x->function];
		b->folded_of[i] = push(b, b->folded_of[x->parent], x->function);
	}
	for (size_t i = 0; i < b->s->n; i++)
		b->folded.v[b->folded_of[p->of_place[i]]].is_used |= is_kept[p->of_place[i]];
	for (size_t i = b->folded.n; i-- > 1;)
		b->folded.v[b->folded.v[i].parent].is_used |= b->folded.v[i].is_used;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function, node;

	if (map_find(&b->children, key, &node))
		return (uint32_t)node;
	node = b->nodes.n;
	map_put(&b->children, key, node);
	vec_push(&b->nodes, (struct branch){ .out.function = function, .parent = parent });
	b->nodes.v[parent].n_children++;
	return (uint32_t)node;
}

/* Stacks that differ only in what recurs are one. Returns the node of each. */
static uint32_t *make_nodes(struct builder *b)
{
	uint32_t *node_of = xcalloc(b->folded.n, sizeof *node_of);

	vec_push(&b->nodes, (struct branch){ 0 });
	for (size_t i = 1; i < b->folded.n; i++) {
		uint32_t key = b->trie.v.v[i].key;

		if (!b->folded.v[i].is_used)
			continue;
		node_of[i] = child_of(b, node_of[b->folded.v[i].parent], key >> 1);
		b->nodes.v[node_of[i]].out.is_recursive |= key & 1;
	}
	return node_of;
}

/* Costs of one kind of event are off to the same side wherever it is: the ends of intervals add up. */
static void add_node(struct interval *to, const struct node *n)
{
	to->low += n->raw.self_s - n->cost_most.self_s;
	to->high += n->raw.self_s - n->cost_least.self_s;
}

static void add_up(struct builder *b, const uint32_t *node_of, const bool *is_kept)
{
	struct paths_sums unit = paths_sums(b->s);
	bool has_intervals = nodes_have_intervals(b->s->nodes);

	for (size_t i = 0; i < b->s->n; i++) {
		const struct stack_place *p = &b->s->v[i];
		uint32_t path = b->s->paths->of_place[i];
		struct branch *x = &b->nodes.v[node_of[b->folded_of[path]]];

		if (!path || !is_kept[path])
			continue;
		saturated_add(&x->out.self_n, p->n_samples);
		saturated_add(&x->out.n_calls, p->n_calls);
		x->self += paths_time(&unit, p->value);
		if (has_intervals)
			add_node(&x->corrected, &b->s->nodes->v[p->stack - 1]);
	}
	for (size_t i = b->nodes.n; i-- > 0;) {
		struct branch *x = &b->nodes.v[i];
		struct branch *parent = &b->nodes.v[x->parent];

		saturated_add(&x->out.total_n, x->out.self_n);
		x->total += x->self;
		x->out.self = paths_value(&unit, x->self) * b->scale;
		x->out.total = paths_value(&unit, x->total) * b->scale;
		x->out.total_interval = has_intervals
			? x->corrected
			: (struct interval){ UNITS_UNKNOWN, UNITS_UNKNOWN };
		if (!i)
			break;
		saturated_add(&parent->out.total_n, x->out.total_n);
		parent->total += x->total;
		parent->corrected.low += x->corrected.low;
		parent->corrected.high += x->corrected.high;
	}
	paths_sums_done(&unit);
}

static int by_total(const void *a, const void *b)
{
	const struct calltree_node *x = *(const struct calltree_node *const *)a,
				   *y = *(const struct calltree_node *const *)b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* The children of all nodes lie in one array, those of a node side by side. */
static const struct calltree_node *finish(struct arena *a, struct builder *b)
{
	struct calltree_node *all = arena_new_n(a, struct calltree_node, b->nodes.n);
	const struct calltree_node **next =
		arena_new_n(a, const struct calltree_node *, b->nodes.n);

	for (size_t i = 0; i < b->nodes.n; i++) {
		struct branch *x = &b->nodes.v[i];

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
	struct builder b = { .s = s,
		.keep = keep,
		.scale = 1 - lost_share,
		.folded_of = xcalloc(s->paths->n, sizeof *b.folded_of) };
	bool *is_kept = xcalloc(s->paths->n, sizeof *is_kept);
	const struct calltree_node *root;
	uint32_t *node_of;

	fold(&b, is_kept);
	node_of = make_nodes(&b);
	trie_done(&b.trie); /* what is as large as the tree goes before that is made */
	map_done(&b.children);
	add_up(&b, node_of, is_kept);
	vec_done(&b.folded);
	free(b.folded_of);
	free(is_kept);
	free(node_of);
	root = finish(a, &b);
	vec_done(&b.nodes);
	return root;
}
