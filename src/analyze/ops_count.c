/* SPDX-License-Identifier: MIT
 *
 * See ops.h: our own count. Every moment of a thread belongs to the innermost span, where two overlap to the one that
 * began last, which is cut at the end of the one it began in. */
#include <stdlib.h>
#include <string.h>

#include "analyze/ops.h"
#include "analyze/ops_python.h"
#include "analyze/ops_rows.h"
#include "analyze/ops_tree.h"
#include "base/arena.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum { OUTER = 64 }; /* callers looked at for a call within a call of the same row */

struct own {
	struct ops_tree tree;
	int64_t *self_ns, *end_ns; /* by node; ends as cut */
	int64_t *device_ns; /* by node, launched by it and its calls; NULL: nothing is linked */
	uint32_t *row;      /* by node */
	uint32_t *around;   /* by node: the innermost Python function; NULL: there are none */
	struct ops_python python;
	uint32_t *asked;    /* by event: ops.asked; NULL: nothing tells it */
	struct map told[2]; /* row and name → own time: of sources, of modules */
	struct arena *arena;
};

/* The span that is still open when another one begins. */
static uint32_t open_at(const struct own *o, uint32_t node, int64_t t_ns)
{
	while (node != OPS_NONE && o->end_ns[node] <= t_ns)
		node = o->tree.parent[node];
	return node;
}

/* Callers anew: a span lies in the one that was open when it began, Python functions in Python functions. */
static void nest(struct own *o)
{
	struct ops_tree *t = &o->tree;
	size_t n_tracks = t->x->tracks.items.n;
	uint32_t *tops =
		xcalloc(2 * (n_tracks + 1), sizeof *tops); /* by track: operators, Python */

	memset(tops, 0xff, 2 * (n_tracks + 1) * sizeof *tops);
	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i], up;
		const struct op_event *e = ops_node(t, node);
		bool is_python = e->category == OP_PYTHON;

		if (op_is_device(e))
			continue;
		up = open_at(o, tops[2 * e->track + is_python], e->start_ns);
		o->end_ns[node] = e->start_ns + e->duration_ns;
		if (up != OPS_NONE && o->end_ns[node] > o->end_ns[up])
			o->end_ns[node] = o->end_ns[up];
		o->self_ns[node] = o->end_ns[node] - e->start_ns;
		if (up != OPS_NONE)
			o->self_ns[up] -= o->self_ns[node];
		t->parent[node] = up;
		tops[2 * e->track + is_python] = node;
		if (!o->around)
			continue;
		up = open_at(o, tops[2 * e->track + 1], e->start_ns);
		while (up != OPS_NONE && o->end_ns[up] < o->end_ns[node])
			up = t->parent[up]; /* it only began there, as regions do in __enter__ */
		o->around[node] = up;
	}
	free(tops);
}

/* What was launched counts for the operator that did it, and for all around it. */
static void launch(struct own *o, size_t n)
{
	struct ops_tree *t = &o->tree;

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
	const struct ops_tree *t = &o->tree;

	vec_each (&t->x->v, e) {
		uint32_t owner = op_is_device(e) && e->category != OP_DEVICE_ANNOTATION
			? ops_owner(t, e)
			: OPS_NONE;

		if (owner == OPS_NONE || o->row[owner] == OPS_NONE)
			continue;
		rows->v.v[o->row[owner]].self_device_us += (double)e->duration_ns / 1e3;
		rows->v.v[o->row[owner]].n_launches++;
	}
}

static bool is_within_itself(const struct own *o, uint32_t node)
{
	uint32_t up = o->tree.parent[node];

	for (unsigned i = 0; i < OUTER && up != OPS_NONE; i++, up = o->tree.parent[up])
		if (o->row[up] == o->row[node])
			return true;
	return false;
}

static void add_to_row(struct own *o, uint32_t node, struct ops_rows *rows, struct ops_row *r)
{
	struct ops_row *outer;
	struct ops_tree *t = &o->tree;
	const struct op_event *e = ops_node(t, node);
	bool is_outer = !is_within_itself(o, node);
	int64_t cpu, device;

	if (!r->n_calls++)
		r->is_nested = t->parent[node] != OPS_NONE;
	r->self_cpu_us += (double)o->self_ns[node] / 1e3;
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

/* Whichever of the names told so far has most of the row's own time stands in the row. */
static void tell(struct own *o, size_t which, uint32_t node, uint32_t name, const char **in_row)
{
	uint64_t key = (uint64_t)o->row[node] << 32 | name,
		 best = (uint64_t)o->row[node] << 32 | OPS_NONE;
	uint64_t ns = 0, most = 0;

	if (name == OPS_NONE)
		return;
	map_find(&o->told[which], key, &ns);
	map_find(&o->told[which], best, &most);
	ns += (uint64_t)o->self_ns[node] + 1;
	map_put(&o->told[which], key, ns);
	if (ns <= most)
		return;
	map_put(&o->told[which], best, ns);
	*in_row = op_events_name(o->tree.x, name);
}

/* The line a recording has with each operator. */
static uint32_t source_kept(const struct op_events *x, uint32_t node)
{
	return node < x->sources.n && x->sources.v[node] ? x->sources.v[node] - 1 : OPS_NONE;
}

static void add_python(struct own *o, uint32_t node, uint32_t stack, struct ops_row *r)
{
	uint32_t kept = source_kept(o->tree.x, node), source = OPS_NONE;

	tell(o, 0, node, kept, &r->source);
	if (o->around)
		source = ops_python_source(&o->python, node);
	if (o->asked)
		o->asked[node] = (kept != OPS_NONE ? kept : source) + 1; /* OPS_NONE + 1 is 0 */
	if (!o->around)
		return;
	tell(o, 0, node, source, &r->source);
	tell(o, 1, node, ops_python_module(&o->python, node), &r->module);
	if (stack && !*r->stack)
		r->stack = arena_strdup(o->arena, intern_get(&o->python.stacks, stack - 1)->p);
}

static int by_length(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The durations of each row's calls, side by side in `self_ns`, which has done its duty. */
static void find_percentiles(struct own *o, struct ops *ops)
{
	struct ops_tree *t = &o->tree;
	size_t *at = xcalloc(ops->n + 1, sizeof *at), sum = 0;

	for (size_t i = 0; i < ops->n; i++) {
		at[i] = sum;
		sum += ops->v[i].n_calls;
	}
	for (size_t i = 0; i < t->n; i++) {
		uint32_t row = o->row[t->order[i]];

		if (row != OPS_NONE)
			o->self_ns[at[row]++] = ops_node(t, t->order[i])->duration_ns;
	}
	for (size_t i = 0; i < ops->n; i++) {
		struct ops_row *r = &ops->v[i];
		int64_t *v = o->self_ns + at[i] - r->n_calls;
		size_t n = r->n_calls;

		qsort(v, n, sizeof *v, by_length);
		r->median_us = ((double)v[n / 2] + (double)v[(n - 1) / 2]) / 2e3;
		r->p99_us = (double)v[(n * 99 + 99) / 100 - 1] / 1e3;
		r->max_us = (double)v[n - 1] / 1e3;
	}
	free(at);
}

static void own_done(struct own *o)
{
	ops_tree_done(&o->tree);
	free(o->self_ns);
	free(o->end_ns);
	free(o->device_ns);
	free(o->row);
	free(o->around);
	ops_python_done(&o->python);
	map_done(&o->told[0]);
	map_done(&o->told[1]);
}

static void count_rows(struct own *o, struct ops_rows *rows, unsigned n_stack)
{
	for (size_t i = 0; i < o->tree.n; i++) {
		uint32_t node = o->tree.order[i], stack;
		const struct op_event *e = ops_node(&o->tree, node);
		struct ops_row *r;

		o->row[node] = OPS_NONE;
		if (op_is_device(e) || e->category == OP_PYTHON || node >= o->tree.n_events)
			continue;
		stack = ops_python_stack(&o->python, node, n_stack);
		r = ops_rows_of(rows, e, stack);
		o->row[node] = (uint32_t)(r - rows->v.v);
		add_to_row(o, node, rows, r);
		add_python(o, node, stack, r);
	}
}

/* Texts of a trace live no longer than it; those of a table in its arena. */
static void keep_texts(struct arena *a, struct ops *ops)
{
	for (size_t i = 0; i < ops->n; i++) {
		struct ops_row *r = &ops->v[i];

		r->source = arena_strdup(a, r->source);
		r->module = arena_strdup(a, *r->module ? r->module + strlen("nn.Module: ") : "");
	}
}

struct ops *ops_count(struct arena *a, struct op_events *x, const struct ops_options *options)
{
	struct own o = { .arena = a };
	struct ops_rows rows;
	struct ops *ops;
	size_t n;

	ops_tree_init(&o.tree, x, true);
	n = o.tree.n_events + o.tree.extra.n;
	o.self_ns = xcalloc(n + 1, sizeof *o.self_ns);
	o.end_ns = xcalloc(n + 1, sizeof *o.end_ns);
	o.row = xcalloc(n + 1, sizeof *o.row);
	o.around = x->has_python ? xcalloc(n + 1, sizeof *o.around) : NULL;
	nest(&o);
	if (x->has_python || x->sources.n)
		o.asked = arena_new_n(a, uint32_t, o.tree.n_events + 1);
	o.python = (struct ops_python){ .tree = &o.tree, .around = o.around };
	launch(&o, n);
	ops_rows_init(&rows, a, &o.tree, options);
	count_rows(&o, &rows, options->n_stack);
	launch_rows(&o, &rows);
	ops = ops_rows_take(&rows);
	ops->asked = o.asked;
	keep_texts(a, ops);
	find_percentiles(&o, ops);
	own_done(&o);
	return ops;
}
