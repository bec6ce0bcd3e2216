/* SPDX-License-Identifier: MIT
 * See kernels.h. */
#include "analyze/torch/kernels.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/torch/steps.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/banned.h"

struct gathering {
	struct ops_tree tree;
	bool by_launch;
	struct intern keys;  /* what rows are by: index */
	struct map owned_ns; /* row and owner's name → time */
	VEC(struct op_kernel_row) rows;
	VEC(double) known_s, owner_ns; /* by row: time with estimates; of the owner found so far */
};

static size_t row_of(struct gathering *g, const struct op_event *e, struct arena *a)
{
	const char *name = op_events_name(g->tree.x, e->name);
	const struct op_launch *launch = g->by_launch ? op_events_launch(g->tree.x, e) : NULL;
	uint32_t owner = g->by_launch ? ops_owner(&g->tree, e) : OPS_NONE;
	uint32_t key[3] = { e->name, owner == OPS_NONE ? OPS_NONE : g->tree.x->v.v[owner].name,
		launch ? g->tree.x->device.v[e->detail - 1].launch : 0 };
	bool is_new;
	uint32_t at = intern_add(&g->keys, key, sizeof key, &is_new);

	if (!is_new)
		return at;
	vec_push(&g->known_s, 0);
	vec_push(&g->owner_ns, 0);
	vec_push(&g->rows,
		(struct op_kernel_row){ .name = arena_strdup(a, name),
			.launch = launch ? arena_copy(a, launch, sizeof *launch) : NULL,
			.owner = "",
			.min_s = INFINITY,
			.is_kernel = e->category == OP_KERNEL,
			.uses_tensor_cores =
				e->category == OP_KERNEL && op_uses_tensor_cores(name) });
	return at;
}

static void add_owner(struct gathering *g, const struct op_event *e, size_t row, struct arena *a)
{
	uint32_t owner = ops_owner(&g->tree, e);
	uint64_t key, ns = 0;

	if (owner == OPS_NONE)
		return;
	key = (uint64_t)row << 32 | g->tree.x->v.v[owner].name;
	map_find(&g->owned_ns, key, &ns);
	ns += (uint64_t)e->duration_ns;
	map_put(&g->owned_ns, key, ns);
	if ((double)ns > g->owner_ns.v[row]) {
		g->owner_ns.v[row] = (double)ns;
		g->rows.v[row].owner =
			arena_strdup(a, op_events_name(g->tree.x, g->tree.x->v.v[owner].name));
	}
}

static void add_event(struct gathering *g, const struct op_event *e, struct arena *a)
{
	size_t row = row_of(g, e, a);
	struct op_kernel_row *r = &g->rows.v[row];
	double s = (double)e->duration_ns / 1e9;

	r->n_times++;
	r->seconds += s;
	r->min_s = fmin(r->min_s, s);
	r->max_s = fmax(r->max_s, s);
	if (e->detail && e->detail <= g->tree.x->device.n) {
		const struct op_device *d = &g->tree.x->device.v[e->detail - 1];

		r->bytes += d->bytes;
		if (!isnan(d->blocks_per_sm) && !isnan(d->occupancy)) {
			g->known_s.v[row] += s;
			r->blocks_per_sm += s * d->blocks_per_sm;
			r->occupancy += s * d->occupancy / 100;
		}
	}
	add_owner(g, e, row, a);
}

static int by_time(const void *a, const void *b)
{
	const struct op_kernel_row *x = a, *y = b;

	return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

/* Rows have sums until now; from here on means. */
static void finish(struct gathering *g, struct op_kernels *to)
{
	double all_known = 0;

	for (size_t i = 0; i < g->rows.n; i++) {
		struct op_kernel_row *r = &g->rows.v[i];
		double known = g->known_s.v[i];

		to->seconds += r->seconds;
		to->kernel_s += r->is_kernel ? r->seconds : 0;
		to->tensor_core_s += r->uses_tensor_cores ? r->seconds : 0;
		to->blocks_per_sm += r->blocks_per_sm;
		to->occupancy += r->occupancy;
		all_known += known;
		r->blocks_per_sm = known > 0 ? r->blocks_per_sm / known : NAN;
		r->occupancy = known > 0 ? r->occupancy / known : NAN;
	}
	to->blocks_per_sm = all_known > 0 ? to->blocks_per_sm / all_known : NAN;
	to->occupancy = all_known > 0 ? to->occupancy / all_known : NAN;
}

static const struct op_kernels *build(struct arena *a, struct op_events *x, bool by_launch)
{
	struct op_kernels *to = arena_new(a, struct op_kernels);
	struct gathering g = { .by_launch = by_launch };

	ops_tree_init(&g.tree, x, false);
	vec_each (&x->v, e)
		if (op_is_device(e) && e->category != OP_DEVICE_ANNOTATION)
			add_event(&g, e, a);
	finish(&g, to);
	if (g.rows.n)
		qsort(g.rows.v, g.rows.n, sizeof *g.rows.v, by_time);
	to->v = arena_copy(a, g.rows.v, g.rows.n * sizeof *g.rows.v);
	to->n = g.rows.n;
	vec_done(&g.rows);
	vec_done(&g.known_s);
	vec_done(&g.owner_ns);
	intern_done(&g.keys);
	map_done(&g.owned_ns);
	ops_tree_done(&g.tree);
	return to;
}

const struct op_kernels *op_kernels_build(struct arena *a, struct op_events *x)
{
	return build(a, x, false);
}

const struct op_kernels *op_kernels_by_launch(struct arena *a, struct op_events *x)
{
	return build(a, x, true);
}
