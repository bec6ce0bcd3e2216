/* SPDX-License-Identifier: MIT
 * See modules.h. */
#include "analyze/torch/modules.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/backward.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

static const char PREFIX[] = "nn.Module: ";

enum {
	DEPTH = 1000, /* of Python's own stack; deeper calls count for the last one */
	MODULES_DEPTH = 66,
};

struct row {
	struct op_module x;
	uint32_t name, first_child, last_child, next; /* rows; OPS_NONE */
};

struct open {                /* a call under way */
	uint32_t row, above; /* in opens; OPS_NONE */
	int64_t end_ns;
	size_t depth;
};

struct gathering {
	struct ops_tree tree;
	bool *is_module;     /* by name */
	uint32_t *module_of; /* by event: row of an operator; OPS_NONE */
	uint32_t *top;       /* by track: call under way; OPS_NONE */
	VEC(struct open) opens;
	VEC(struct row) rows;
	struct map row_of;    /* caller's row + 1 and name → row */
	uint32_t first, last; /* rows that no module called */
	struct op_modules *to;
};

/* ---- calls ----------------------------------------------------------------------------------- */

static uint32_t row_of(struct gathering *g, uint32_t caller, uint32_t name, size_t depth)
{
	uint64_t key = ((uint64_t)caller + 1) << 32 | name, at;
	uint32_t row = (uint32_t)g->rows.n, last;

	if (map_find(&g->row_of, key, &at))
		return (uint32_t)at;
	map_put(&g->row_of, key, row);
	vec_push(&g->rows,
		(struct row){ .x = { .depth = depth, .parent = caller },
			.name = name,
			.first_child = OPS_NONE,
			.last_child = OPS_NONE,
			.next = OPS_NONE });
	last = caller == OPS_NONE ? g->last : g->rows.v[caller].last_child;
	if (last != OPS_NONE)
		g->rows.v[last].next = row;
	else if (caller == OPS_NONE)
		g->first = row;
	else
		g->rows.v[caller].first_child = row;
	*(caller == OPS_NONE ? &g->last : &g->rows.v[caller].last_child) = row;
	return row;
}

static uint32_t open_at(const struct gathering *g, uint32_t call, int64_t t_ns)
{
	while (call != OPS_NONE && g->opens.v[call].end_ns <= t_ns)
		call = g->opens.v[call].above;
	return call;
}

static void begin_call(struct gathering *g, const struct op_event *e)
{
	uint32_t above = g->top[e->track], row;
	const struct open *outer = above == OPS_NONE ? NULL : &g->opens.v[above];
	struct open call = { .above = above, .end_ns = e->start_ns + e->duration_ns };
	int64_t bytes, device_bytes;
	double s;

	if (outer && outer->depth >= DEPTH)
		return;
	if (outer && call.end_ns > outer->end_ns)
		call.end_ns = outer->end_ns; /* profiling ended in it */
	call.depth = outer ? outer->depth + 1 : 0;
	row = call.row = row_of(g, outer ? outer->row : OPS_NONE, e->name, call.depth);
	s = (double)(call.end_ns - e->start_ns) / 1e9;
	g->rows.v[row].x.n_calls++;
	g->rows.v[row].x.seconds += s;
	g->rows.v[row].x.self_s += s;
	ops_tree_memory(&g->tree, e, &bytes, &device_bytes);
	g->rows.v[row].x.bytes += bytes + device_bytes;
	g->rows.v[row].x.self_bytes += bytes + device_bytes;
	if (outer) {
		g->rows.v[outer->row].x.self_s -= s;
		g->rows.v[outer->row].x.self_bytes -= bytes + device_bytes;
	}
	g->top[e->track] = (uint32_t)g->opens.n;
	vec_push(&g->opens, call);
}

static void follow_calls(struct gathering *g)
{
	const struct ops_tree *t = &g->tree;

	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i], top;
		const struct op_event *e = ops_node(t, node);

		if (op_is_device(e) || node >= t->n_events)
			continue;
		top = g->top[e->track] = open_at(g, g->top[e->track], e->start_ns);
		if (e->category == OP_PYTHON && g->is_module[e->name]) {
			begin_call(g, e);
		} else if (e->category == OP_CPU && top != OPS_NONE) {
			g->module_of[node] = g->opens.v[top].row;
			g->rows.v[g->opens.v[top].row].x.n_operators++;
		}
	}
}

/* ---- operators that tell their module -------------------------------------------------------- */

/* Of a module by its name, with those it is in. */
static uint32_t row_of_module(struct gathering *g, uint32_t name)
{
	uint32_t chain[MODULES_DEPTH], row = OPS_NONE;
	size_t n = 0;
	uint64_t up;

	chain[n++] = name;
	while (n < MODULES_DEPTH && map_find(&g->tree.x->module_parents, chain[n - 1], &up))
		chain[n++] = (uint32_t)up;
	for (size_t depth = 0; n-- > 0; depth++)
		row = row_of(g, row, chain[n], depth);
	return row;
}

/* What an operator calls belongs to its module as well, unless it ran in another one. */
static void follow_operators(struct gathering *g)
{
	const struct ops_tree *t = &g->tree;

	for (size_t i = 0; i < t->n; i++) { /* callers come before their calls */
		uint32_t node = t->order[i], up = t->parent[node], name, row;
		const struct op_event *e = ops_node(t, node);
		double s = (double)e->duration_ns / 1e9;

		if (node >= t->n_events || e->category != OP_CPU)
			continue;
		while (up != OPS_NONE && (up >= t->n_events || t->x->v.v[up].category != OP_CPU))
			up = t->parent[up];
		name = node < t->x->modules.n ? t->x->modules.v[node] : 0;
		row = name               ? row_of_module(g, name - 1)
			: up == OPS_NONE ? OPS_NONE
					 : g->module_of[up];
		g->module_of[node] = row;
		if (row == OPS_NONE)
			continue;
		g->rows.v[row].x.n_operators++;
		g->rows.v[row].x.self_s += s;
		if (up != OPS_NONE && g->module_of[up] != OPS_NONE)
			g->rows.v[g->module_of[up]].x.self_s -= s;
	}
}

/* ---- autograd -------------------------------------------------------------------------------- */

/* Operators backward, and those they called, count for the module of their operator forward. */
static void follow_backward(struct gathering *g, uint32_t *backward_of)
{
	const struct ops_tree *t = &g->tree;
	bool *is_one;
	uint32_t *forward = op_backward_find(t, &is_one);

	for (size_t i = 0; forward && i < t->n_events; i++)
		if (forward[i] && is_one[i])
			backward_of[i] = g->module_of[forward[i] - 1];
	free(forward);
	free(is_one);
	for (size_t i = 0; i < t->n; i++) { /* callers come before their calls */
		uint32_t node = t->order[i], up = t->parent[node];
		const struct op_event *e = ops_node(t, node);

		while (up != OPS_NONE && (up >= t->n_events || t->x->v.v[up].category != OP_CPU))
			up = t->parent[up];
		if (node >= t->n_events || e->category != OP_CPU)
			continue;
		if (up != OPS_NONE && backward_of[up] != OPS_NONE)
			backward_of[node] = backward_of[up];
		else if (backward_of[node] != OPS_NONE)
			g->rows.v[backward_of[node]].x.self_backward_s +=
				(double)e->duration_ns / 1e9;
	}
}

static void add_device(struct gathering *g, const uint32_t *backward_of)
{
	const struct ops_tree *t = &g->tree;

	vec_each (&t->x->v, e) {
		uint32_t owner = ops_owner(t, e), row;
		double s = (double)e->duration_ns / 1e9;

		if (!op_is_device(e) || e->category == OP_DEVICE_ANNOTATION)
			continue;
		g->to->has_device = true;
		row = owner == OPS_NONE                   ? OPS_NONE
			: g->module_of[owner] != OPS_NONE ? g->module_of[owner]
							  : backward_of[owner];
		if (row == OPS_NONE) {
			g->to->outside_device_s += s;
			continue;
		}
		g->rows.v[row].x.self_device_s += s;
		g->rows.v[row].x.n_self_launches++;
		if (g->module_of[owner] == OPS_NONE)
			g->rows.v[row].x.self_device_backward_s += s;
	}
}

/* ---- result ---------------------------------------------------------------------------------- */

/* From the first to the last event of the host's. */
static double length_s(struct op_events *x)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	vec_each (&x->v, e) {
		if (op_is_device(e))
			continue;
		first = e->start_ns < first ? e->start_ns : first;
		last = e->start_ns + e->duration_ns > last ? e->start_ns + e->duration_ns : last;
	}
	return last > first ? (double)(last - first) / 1e9 : 0;
}

/* Rows are made after their callers, so the last ones come first here. */
static void sum_up(struct gathering *g)
{
	double all_s = length_s(g->tree.x);

	for (size_t i = g->rows.n; i-- > 0;) {
		struct op_module *m = &g->rows.v[i].x;

		if (!g->to->has_calls)
			m->seconds += m->self_s;
		m->backward_s += m->self_backward_s;
		m->device_s += m->self_device_s;
		m->n_launches += m->n_self_launches;
		g->to->has_backward |= m->self_backward_s > 0;
		m->share = all_s > 0 ? (m->seconds + m->backward_s) / all_s : 0;
		if (m->parent != OPS_NONE) {
			struct op_module *up = &g->rows.v[m->parent].x;

			if (!g->to->has_calls)
				up->seconds += m->seconds;
			up->backward_s += m->backward_s;
			up->device_s += m->device_s;
			up->n_launches += m->n_launches;
		}
	}
}

static void put_in_order(struct gathering *g, struct arena *a)
{
	struct op_module *v = arena_new_n(a, struct op_module, g->rows.n + 1);
	uint32_t *place = xcalloc(g->rows.n + 1, sizeof *place), at = g->first;
	uint64_t path;

	while (at != OPS_NONE) {
		const struct row *r = &g->rows.v[at];

		place[at] = (uint32_t)g->to->n;
		v[g->to->n] = r->x;
		v[g->to->n].parent = r->x.parent == OPS_NONE ? g->to->n : place[r->x.parent];
		v[g->to->n].path = map_find(&g->tree.x->module_paths, r->name, &path)
			? arena_strdup(a, op_events_name(g->tree.x, (uint32_t)path))
			: "";
		v[g->to->n++].name =
			arena_strdup(a, op_events_name(g->tree.x, r->name) + strlen(PREFIX));
		if (r->first_child != OPS_NONE) {
			at = r->first_child;
			continue;
		}
		while (at != OPS_NONE && g->rows.v[at].next == OPS_NONE)
			at = (uint32_t)g->rows.v[at].x.parent;
		at = at == OPS_NONE ? OPS_NONE : g->rows.v[at].next;
	}
	g->to->v = v;
	free(place);
}

static uint32_t *none_of(size_t n)
{
	uint32_t *v = xcalloc(n + 1, sizeof *v);

	memset(v, 0xff, (n + 1) * sizeof *v);
	return v;
}

const struct op_modules *op_modules_build(struct arena *a, struct op_events *x)
{
	struct gathering g = {
		.to = arena_new(a, struct op_modules), .first = OPS_NONE, .last = OPS_NONE
	};
	uint32_t *backward_of;

	ops_tree_init(&g.tree, x, true);
	g.is_module = xcalloc(x->names.items.n + 1, sizeof *g.is_module);
	for (size_t i = 0; i < x->names.items.n; i++)
		g.is_module[i] =
			strncmp(op_events_name(x, (uint32_t)i), PREFIX, strlen(PREFIX)) == 0;
	g.to->has_memory = x->memory.n > 0;
	g.module_of = none_of(x->v.n);
	backward_of = none_of(x->v.n);
	g.top = none_of(x->tracks.items.n);
	g.to->has_calls = !x->modules.n;
	if (g.to->has_calls)
		follow_calls(&g);
	else
		follow_operators(&g);
	follow_backward(&g, backward_of);
	add_device(&g, backward_of);
	sum_up(&g);
	put_in_order(&g, a);
	free(g.is_module);
	free(g.module_of);
	free(backward_of);
	free(g.top);
	vec_done(&g.opens);
	vec_done(&g.rows);
	map_done(&g.row_of);
	ops_tree_done(&g.tree);
	return g.to;
}
