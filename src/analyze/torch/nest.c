/* SPDX-License-Identifier: MIT
 * See nest.h. */
#include "analyze/torch/nest.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/banned.h"

/* The span that is still open when another one begins. */
static uint32_t open_at(const struct ops_nest *n, uint32_t node, int64_t t_ns)
{
	while (node != OPS_NONE && n->end_ns[node] <= t_ns)
		node = n->tree.parent[node];
	return node;
}

/* Callers anew: a span lies in the one that was open when it began, Python functions in Python functions. */
static void nest(struct ops_nest *n)
{
	struct ops_tree *t = &n->tree;
	size_t n_tracks = t->x->tracks.items.n;
	/* by track: operators, Python */
	uint32_t *tops = xcalloc(2 * (n_tracks + 1), sizeof *tops);

	memset(tops, 0xff, 2 * (n_tracks + 1) * sizeof *tops);
	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i], up;
		const struct op_event *e = ops_node(t, node);
		bool is_python = e->category == OP_PYTHON;

		if (op_is_device(e))
			continue;
		up = open_at(n, tops[2 * e->track + is_python], e->start_ns);
		n->end_ns[node] = e->start_ns + e->duration_ns;
		if (up != OPS_NONE && n->end_ns[node] > n->end_ns[up])
			n->end_ns[node] = n->end_ns[up];
		n->self_ns[node] = n->end_ns[node] - e->start_ns;
		if (up != OPS_NONE)
			n->self_ns[up] -= n->self_ns[node];
		t->parent[node] = up;
		tops[2 * e->track + is_python] = node;
		if (!n->around)
			continue;
		up = open_at(n, tops[2 * e->track + 1], e->start_ns);
		while (up != OPS_NONE && n->end_ns[up] < n->end_ns[node])
			up = t->parent[up]; /* it only began there, as regions do in __enter__ */
		n->around[node] = up;
	}
	free(tops);
}

void ops_nest_init(struct ops_nest *n, struct op_events *x)
{
	*n = (struct ops_nest){ 0 };
	ops_tree_init(&n->tree, x, true);
	n->n = n->tree.n_events + n->tree.extra.n;
	n->self_ns = xcalloc(n->n + 1, sizeof *n->self_ns);
	n->end_ns = xcalloc(n->n + 1, sizeof *n->end_ns);
	n->around = x->has_python ? xcalloc(n->n + 1, sizeof *n->around) : NULL;
	if (n->around)
		memset(n->around, 0xff, (n->n + 1) * sizeof *n->around);
	nest(n);
}

void ops_nest_done(struct ops_nest *n)
{
	ops_tree_done(&n->tree);
	free(n->self_ns);
	free(n->end_ns);
	free(n->around);
}
