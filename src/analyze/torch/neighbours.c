/* SPDX-License-Identifier: MIT
 * See neighbours.h. */
#include "analyze/torch/neighbours.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/pattern.h"
#include "analyze/torch/nest.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct sum {
	uint32_t name; /* OPS_NONE: none */
	uint64_t n_calls;
	int64_t ns;
};

struct sums {
	struct map at; /* name → index */
	VEC(struct sum) v;
};

static void add(struct sums *s, uint32_t name, uint64_t n_calls, int64_t ns)
{
	uint64_t at;

	if (!map_find(&s->at, name, &at)) {
		at = s->v.n;
		map_put(&s->at, name, at);
		vec_push(&s->v, (struct sum){ .name = name });
	}
	s->v.v[at].n_calls += n_calls;
	s->v.v[at].ns += ns;
}

struct gathering {
	struct ops_nest nest;
	const char *name;
	bool *is_it;                               /* by name */
	enum { NOT, WITHIN, INNER, OUTER } * part; /* by node */
	struct sums callers, callees;
	struct op_neighbours *to;
};

static uint32_t name_of(const struct gathering *g, uint32_t node)
{
	return node == OPS_NONE ? OPS_NONE
				: ops_name(&g->nest.tree, ops_node(&g->nest.tree, node)->name);
}

/* OUTER: the operator, in no call of itself. INNER: it again, called by itself. WITHIN: anything that it called. */
static int part_of(const struct gathering *g, uint32_t node)
{
	uint32_t up = g->nest.tree.parent[node];
	int outer = up == OPS_NONE ? NOT : (int)g->part[up];
	bool is_it = g->is_it[ops_node(&g->nest.tree, node)->name];

	if (outer == NOT)
		return is_it ? OUTER : NOT;
	return is_it && outer >= INNER ? INNER : WITHIN;
}

static void follow(struct gathering *g)
{
	const struct ops_tree *t = &g->nest.tree;

	for (size_t i = 0; i < t->n; i++) { /* callers come before their calls */
		uint32_t node = t->order[i], up = t->parent[node];
		const struct op_event *e = ops_node(t, node);
		int64_t ns;

		if (op_is_device(e) || e->category == OP_PYTHON || node >= t->n_events)
			continue;
		g->part[node] = part_of(g, node);
		ns = ops_nest_ns(&g->nest, node);
		if (g->part[node] == OUTER) {
			add(&g->callers, name_of(g, up), 1, ns);
			g->to->n_calls++;
			g->to->cpu_us += (double)ns / 1e3;
		}
		if (g->part[node] >= INNER) {
			add(&g->callees, OPS_NONE, 0, g->nest.self_ns[node]);
			g->to->self_cpu_us += (double)g->nest.self_ns[node] / 1e3;
		} else if (g->part[node] == WITHIN && g->part[up] >= INNER) {
			add(&g->callees, name_of(g, node), 1, ns);
		}
	}
}

static int by_time(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns)
			      : (x->name > y->name) - (x->name < y->name);
}

static const struct op_neighbour *take(
	struct gathering *g, struct arena *a, struct sums *s, size_t *ret_n)
{
	struct op_neighbour *v = arena_new_n(a, struct op_neighbour, s->v.n + 1);

	if (s->v.n)
		qsort(s->v.v, s->v.n, sizeof *s->v.v, by_time);
	for (size_t i = 0; i < s->v.n; i++) {
		uint32_t name = s->v.v[i].name;

		v[i] = (struct op_neighbour){ .name = name == OPS_NONE ? ""
				: name == g->nest.tree.step
				? "ProfilerStep*"
				: arena_strdup(a, op_events_name(g->nest.tree.x, name)),
			.n_calls = s->v.v[i].n_calls,
			.cpu_us = (double)s->v.v[i].ns / 1e3 };
	}
	*ret_n = s->v.n;
	vec_done(&s->v);
	map_done(&s->at);
	return v;
}

const struct op_neighbours *op_neighbours_build(
	struct arena *a, struct op_events *x, const char *name)
{
	struct gathering g = { .name = name, .to = arena_new(a, struct op_neighbours) };
	bool is_step = strcmp(name, "ProfilerStep*") == 0;

	ops_nest_init(&g.nest, x);
	g.part = xcalloc(g.nest.n + 1, sizeof *g.part);
	g.is_it = xcalloc(x->names.items.n + 1, sizeof *g.is_it);
	for (size_t i = 0; i < x->names.items.n; i++)
		g.is_it[i] = strcmp(op_events_name(x, (uint32_t)i), name) == 0 ||
			(is_step && g.nest.tree.name_flags[i] & OPS_NAME_STEP);
	follow(&g);
	g.to->name = arena_strdup(a, name);
	g.to->callers = take(&g, a, &g.callers, &g.to->n_callers);
	g.to->callees = take(&g, a, &g.callees, &g.to->n_callees);
	free(g.part);
	free(g.is_it);
	ops_nest_done(&g.nest);
	return g.to;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_named(const char *name, const char *text, int how)
{
	const char *last = strstr(name, "::");

	return how == 0 ? strcmp(name, text) == 0 : last && strcmp(last + 2, text) == 0;
}

int op_neighbours_names(struct arena *a, const struct ops *ops, const char *text,
	const char *const **ret, size_t *ret_n, struct err *e)
{
	const char **v = arena_new_n(a, const char *, ops->n + 1);
	struct pattern *pattern = NULL;
	size_t n = 0;

	for (int how = 0; how < 3 && !n; how++) {
		if (how == 2 && pattern_new(&pattern, text, e) < 0)
			return -(int)e->code;
		for (size_t i = 0; i < ops->n; i++) {
			const char *name = ops->v[i].name;
			bool is_new = how < 2 ? is_named(name, text, how)
					      : pattern_matches(pattern, name, "", 0);

			for (size_t k = 0; k < n && is_new; k++)
				is_new = strcmp(v[k], name) != 0;
			if (is_new)
				v[n++] = name;
		}
	}
	pattern_free(pattern);
	if (!n)
		return err_set(e, ERR_USAGE, "no operator matches '%.100s'", text);
	*ret = v;
	*ret_n = n;
	return 0;
}
