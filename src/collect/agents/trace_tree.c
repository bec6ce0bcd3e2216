/* SPDX-License-Identifier: MIT
 * See trace_tree.h. The copy is a hostile program's: every reference is checked before it is followed. */
#include "collect/agents/trace_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum {
	NEXT_MS = 1000,
	NEXT_SHARE = 20, /* times what the last copy took */
	NEXT_PART = 8,   /* of the time that is recorded */
};

uint64_t trace_tree_next(uint64_t start_ns, uint64_t now_ns, uint64_t took_ns)
{
	uint64_t wait_ns = (uint64_t)NEXT_MS * 1000000,
		 run_ns = now_ns > start_ns ? now_ns - start_ns : 0;

	if (wait_ns < took_ns * NEXT_SHARE)
		wait_ns = took_ns * NEXT_SHARE;
	if (wait_ns < run_ns / NEXT_PART)
		wait_ns = run_ns / NEXT_PART;
	return now_ns + wait_ns;
}

static size_t n_granules(const struct buf *area)
{
	return area->n / TRACE_GRANULE_BYTES;
}

/* NULL when there is no granule of nodes. */
static const struct trace_granule *granule_at(const struct buf *area, size_t i)
{
	const struct trace_granule *g;

	if (i >= n_granules(area))
		return NULL;
	g = (const struct trace_granule *)(const void *)(area->data + i * TRACE_GRANULE_BYTES);
	return g->magic == TRACE_GRANULE_MAGIC && g->kind == TRACE_GRANULE_NODES ? g : NULL;
}

static size_t n_nodes(const struct trace_granule *g)
{
	return g->n < TRACE_NODES ? (size_t)g->n : TRACE_NODES;
}

static const struct trace_node *nodes_of(const struct trace_granule *g)
{
	return (const struct trace_node *)(const void *)(g + 1);
}

/* The place of a node's parent, SIZE_MAX for none: it must lie before the node and be of the same thread. */
static size_t parent_place(const struct buf *area, const struct trace_granule *g,
	const struct trace_node *node, size_t place)
{
	size_t granule, index;
	const struct trace_granule *of;

	if (!node->parent)
		return SIZE_MAX;
	granule = (node->parent - 1) / TRACE_REF_STRIDE;
	index = (node->parent - 1) % TRACE_REF_STRIDE;
	of = granule_at(area, granule);
	if (!of || index >= n_nodes(of) || of->thread != g->thread ||
		granule * TRACE_NODES + index >= place)
		return SIZE_MAX;
	return granule * TRACE_NODES + index;
}

/* Children lie behind their parents, so one pass from the end sums up subtrees. */
static void sum_up(struct trace_tree *t)
{
	for (size_t i = n_granules(&t->area); i-- > 0;) {
		const struct trace_granule *g = granule_at(&t->area, i);

		for (size_t k = g ? n_nodes(g) : 0; k-- > 0;) {
			const struct trace_node *node = &nodes_of(g)[k];
			size_t place = i * TRACE_NODES + k;
			size_t parent = parent_place(&t->area, g, node, place);

			t->inclusive[place] += node->self;
			if (parent != SIZE_MAX)
				t->inclusive[parent] += t->inclusive[place];
		}
	}
}

static void give_ids(struct trace_tree *t)
{
	while (t->first_id.n < n_granules(&t->area))
		vec_push(&t->first_id, 0);
	for (size_t i = 0; i < n_granules(&t->area); i++)
		if (!t->first_id.v[i] && granule_at(&t->area, i)) {
			t->first_id.v[i] = *t->next_id;
			*t->next_id += TRACE_NODES;
		}
}

static void count(struct trace_tree *t)
{
	struct trace_tree_counters sum = { 0 };

	for (size_t i = 0; i < n_granules(&t->area); i++) {
		const struct trace_granule *g = granule_at(&t->area, i);

		if (!g)
			continue;
		sum.n_resynced += g->n_resynced;
		sum.n_folded += g->n_folded;
		sum.n_paces += g->n_paces;
		sum.paces += g->paces;
		sum.n_threads += g->n_threads;
		sum.n_trees += g->n_threads != 0;
		for (size_t k = 0; k < n_nodes(g); k++)
			sum.n_events += nodes_of(g)[k].calls + nodes_of(g)[k].resumes;
	}
	t->counters = sum;
}

void trace_tree_take(struct trace_tree *t, struct buf *area)
{
	buf_done(&t->area);
	t->area = *area;
	*area = BUF_INIT;
	free(t->inclusive);
	t->n_places = n_granules(&t->area) * TRACE_NODES;
	t->inclusive = xcalloc(t->n_places + 1, sizeof *t->inclusive);
	give_ids(t);
	sum_up(t);
	count(t);
}

/* Whether the node is another than the one that was handed on; it is handed on now. */
static bool has_changed(struct trace_tree *t, const struct trace_node *node, size_t place)
{
	uint64_t hash = hash_bytes_from(t->inclusive[place], node, sizeof *node) | 1;
	bool is_other;

	while (t->told.n <= place)
		vec_push(&t->told, 0);
	is_other = t->told.v[place] != hash;
	t->told.v[place] = hash;
	return is_other;
}

void trace_tree_each(struct trace_tree *t, trace_tree_fn *on_node, void *ctx)
{
	for (size_t i = 0; i < n_granules(&t->area); i++) {
		const struct trace_granule *g = granule_at(&t->area, i);

		for (size_t k = 0; g && k < n_nodes(g); k++) {
			size_t place = i * TRACE_NODES + k, parent;
			const struct trace_node *node = &nodes_of(g)[k];

			if (!has_changed(t, node, place))
				continue;
			parent = parent_place(&t->area, g, node, place);
			on_node(ctx,
				&(struct trace_tree_node){ .granule = g,
					.node = node,
					.id = t->first_id.v[i] + (uint32_t)k,
					.ref = (uint32_t)(i * TRACE_REF_STRIDE + k + 1),
					.parent = parent == SIZE_MAX
						? 0
						: t->first_id.v[parent / TRACE_NODES] +
							(uint32_t)(parent % TRACE_NODES),
					.inclusive = t->inclusive[place] });
		}
	}
	buf_done(&t->area);
	free(t->inclusive);
	t->inclusive = NULL;
	t->n_places = 0;
}

void trace_tree_done(struct trace_tree *t)
{
	buf_done(&t->area);
	free(t->inclusive);
	vec_done(&t->told);
	vec_done(&t->first_id);
	*t = (struct trace_tree){ 0 };
}
