/* SPDX-License-Identifier: MIT
 *
 * See ops.h: our own count, of spans in each other as nest.h has them. */
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/flops_own.h"
#include "analyze/torch/nest.h"
#include "analyze/torch/places.h"
#include "analyze/torch/table.h"
#include "analyze/torch/table_rows.h"
#include "analyze/torch/tree.h"
#include "analyze/torch/waited.h"
#include "base/arena.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum { OUTER = 64 }; /* callers looked at for a call within a call of the same row */

struct own {
	struct ops_nest nest;
	int64_t *device_ns; /* by node, launched by it and its calls; NULL: nothing is linked */
	uint64_t *flops;    /* by node (flops_own.h) */
	int64_t *waited_ns; /* by event (waited.h) */
	uint32_t *row;      /* by node */
	struct ops_places places;
	uint32_t *asked; /* by event: ops.asked; NULL: nothing tells it */
	struct arena *arena;
};

/* What was launched counts for the operator that did it, and for all around it. */
static void launch(struct own *o, size_t n)
{
	struct ops_tree *t = &o->nest.tree;

	if (!t->owners)
		return;
	o->device_ns = xcalloc(n + 1, sizeof *o->device_ns);
	vec_each (&t->x->v, e) {
		uint32_t owner = op_is_device(e) && e->category != OP_DEVICE_ANNOTATION
			? ops_owner(t, e)
			: OPS_NONE;

		if (owner != OPS_NONE)
			o->device_ns[owner] += (double)e->duration_ns;
	}
	for (size_t i = t->n; i-- > 0;) { /* callers come before their calls */
		uint32_t node = t->order[i];

		if (!op_is_device(ops_node(t, node)) && t->parent[node] != OPS_NONE)
			o->device_ns[t->parent[node]] += o->device_ns[node];
	}
}

/* The part of it that is the operators' own. */
static void launch_rows(struct own *o, struct ops_rows *rows)
{
	const struct ops_tree *t = &o->nest.tree;

	vec_each (&t->x->v, e) {
		uint32_t owner = op_is_device(e) && e->category != OP_DEVICE_ANNOTATION
			? ops_owner(t, e)
			: OPS_NONE;

		if (owner == OPS_NONE || o->row[owner] == OPS_NONE)
			continue;
		rows->v.v[o->row[owner]].self_device_us += (double)e->duration_ns / 1e3;
		rows->v.v[o->row[owner]].n_launches++;
		ops_places_launched(&o->places, owner, e->duration_ns);
	}
}

static bool is_within_itself(const struct own *o, uint32_t node)
{
	uint32_t up = o->nest.tree.parent[node];

	for (unsigned i = 0; i < OUTER && up != OPS_NONE; i++, up = o->nest.tree.parent[up])
		if (o->row[up] == o->row[node])
			return true;
	return false;
}

static void add_to_row(
	struct own *o, uint32_t node, struct ops_rows *rows, struct ops_row *r, bool is_outer)
{
	struct ops_row *outer;
	struct ops_tree *t = &o->nest.tree;
	const struct op_event *e = ops_node(t, node);
	int64_t cpu, device;

	if (!r->n_calls++)
		r->is_nested = t->parent[node] != OPS_NONE;
	r->flops += o->flops[node];
	r->waited_us += (double)o->waited_ns[node] / 1e3;
	r->self_cpu_us += (double)o->nest.self_ns[node] / 1e3;
	if (is_outer)
		r->cpu_us += (double)e->duration_ns / 1e3;
	if (o->device_ns) {
		r->device_us += is_outer ? o->device_ns[node] / 1e3 : 0;
	}
	if (!t->memory)
		return;
	ops_tree_memory(t, e, &cpu, &device);
	r->cpu_bytes += is_outer ? cpu : 0;
	r->device_bytes += is_outer ? device : 0;
	r->self_cpu_bytes += cpu;
	r->self_device_bytes += device;
	if (t->parent[node] == OPS_NONE)
		return;
	outer = &rows->v.v[o->row[t->parent[node]]];
	outer->self_cpu_bytes -= cpu;
	outer->self_device_bytes -= device;
}

static void add_asked(
	struct own *o, uint32_t node, uint32_t stack, struct ops_row *r, bool is_outer)
{
	uint32_t who;
	struct ops_asked asked = ops_places_asked(&o->places, node, &who);

	ops_places_add(&o->places, node, o->row[node], &asked, is_outer);
	if (o->asked)
		o->asked[node] = who;
	if (stack && !*r->stack)
		r->stack =
			arena_strdup(o->arena, intern_get(&o->places.python.stacks, stack - 1)->p);
}

static int by_length(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The durations of each row's calls, side by side in `self_ns`, which has done its duty. */
static void find_percentiles(struct own *o, struct ops *ops)
{
	struct ops_tree *t = &o->nest.tree;
	size_t *at = xcalloc(ops->n + 1, sizeof *at), sum = 0;

	for (size_t i = 0; i < ops->n; i++) {
		at[i] = sum;
		sum += ops->v[i].n_calls;
	}
	for (size_t i = 0; i < t->n; i++) {
		uint32_t row = o->row[t->order[i]];

		if (row != OPS_NONE)
			o->nest.self_ns[at[row]++] = ops_node(t, t->order[i])->duration_ns;
	}
	for (size_t i = 0; i < ops->n; i++) {
		struct ops_row *r = &ops->v[i];
		int64_t *v = o->nest.self_ns + at[i] - r->n_calls;
		size_t n = r->n_calls;

		qsort(v, n, sizeof *v, by_length);
		r->median_us = ((double)v[n / 2] + (double)v[(n - 1) / 2]) / 2e3;
		r->p99_us = (double)v[(n * 99 + 99) / 100 - 1] / 1e3;
		r->max_us = (double)v[n - 1] / 1e3;
	}
	free(at);
}

static void count_rows(struct own *o, struct ops_rows *rows, unsigned n_stack)
{
	const struct ops_tree *t = &o->nest.tree;

	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i], stack;
		const struct op_event *e = ops_node(t, node);
		struct ops_row *r;
		bool is_outer;

		o->row[node] = OPS_NONE;
		if (op_is_device(e) || e->category == OP_PYTHON || node >= t->n_events)
			continue;
		stack = ops_python_stack(&o->places.python, node, n_stack);
		r = ops_rows_of(rows, e, stack);
		o->row[node] = (uint32_t)(r - rows->v.v);
		is_outer = !is_within_itself(o, node);
		add_to_row(o, node, rows, r, is_outer);
		add_asked(o, node, stack, r, is_outer);
	}
}

static void own_done(struct own *o)
{
	ops_places_done(&o->places);
	ops_nest_done(&o->nest);
	free(o->device_ns);
	free(o->flops);
	free(o->waited_ns);
	free(o->row);
}

struct ops *ops_count(struct arena *a, struct op_events *x, const struct ops_options *options)
{
	struct own o = { .arena = a };
	struct ops_rows rows;
	struct ops *ops;

	ops_nest_init(&o.nest, x);
	ops_places_init(&o.places, &o.nest);
	o.row = xcalloc(o.nest.n + 1, sizeof *o.row);
	if (x->has_python || x->sources.n)
		o.asked = arena_new_n(a, uint32_t, o.nest.tree.n_events + 1);
	launch(&o, o.nest.n);
	o.flops = ops_work_of_all(&o.nest.tree);
	o.waited_ns = op_waited_own(&o.nest.tree);
	ops_rows_init(&rows, a, &o.nest.tree, options);
	count_rows(&o, &rows, options->n_stack);
	launch_rows(&o, &rows);
	ops = ops_rows_take(&rows);
	ops->asked = o.asked;
	ops_places_tell(&o.places, a, ops);
	find_percentiles(&o, ops);
	own_done(&o);
	return ops;
}
