/* SPDX-License-Identifier: MIT
 * See trace_tree.h. The copy is a hostile program's: every reference is checked before it is followed. */
#include "collect/trace_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/banned.h"

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
}

static bool has_changed(const struct trace_tree *t, size_t i, size_t k)
{
	const struct trace_granule *before = granule_at(&t->before, i);
	const struct trace_granule *now = granule_at(&t->area, i);
	size_t place = i * TRACE_NODES + k;

	return !before || k >= n_nodes(before) || place >= t->n_places_before ||
		t->inclusive[place] != t->inclusive_before[place] ||
		memcmp(&nodes_of(before)[k], &nodes_of(now)[k], sizeof(struct trace_node)) != 0;
}

void trace_tree_each(struct trace_tree *t, trace_tree_fn *on_node, void *ctx)
{
	for (size_t i = 0; i < n_granules(&t->area); i++) {
		const struct trace_granule *g = granule_at(&t->area, i);

		for (size_t k = 0; g && k < n_nodes(g); k++) {
			size_t place = i * TRACE_NODES + k, parent;
			const struct trace_node *node = &nodes_of(g)[k];

			if (!has_changed(t, i, k))
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
	buf_done(&t->before);
	free(t->inclusive_before);
	t->before = t->area;
	t->inclusive_before = t->inclusive;
	t->n_places_before = t->n_places;
	t->area = BUF_INIT;
	t->inclusive = NULL;
	t->n_places = 0;
}

struct trace_tree_counters trace_tree_counters(const struct trace_tree *t)
{
	struct trace_tree_counters sum = { 0 };

	for (size_t i = 0; i < n_granules(&t->before); i++) {
		const struct trace_granule *g = granule_at(&t->before, i);

		if (!g || g->kind != TRACE_GRANULE_NODES)
			continue;
		sum.n_resynced += g->n_resynced;
		sum.n_folded += g->n_folded;
		sum.n_paces += g->n_paces;
		sum.paces += g->paces;
	}
	return sum;
}

void trace_tree_done(struct trace_tree *t)
{
	buf_done(&t->area);
	buf_done(&t->before);
	free(t->inclusive);
	free(t->inclusive_before);
	vec_done(&t->first_id);
	*t = (struct trace_tree){ 0 };
}
