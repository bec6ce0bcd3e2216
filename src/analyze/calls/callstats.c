/* SPDX-License-Identifier: MIT
 * See callstats.h: rows and edges; callstats_sort.c has orders and restrictions. */
#include "analyze/calls/callstats.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/banned.h"

struct edge {
	uint32_t caller, callee;
	struct callstat_cost cost;
};

struct builder {
	struct arena *a;
	struct intern names; /* file, line, name → index */
	struct map index;    /* caller and callee → index */
	VEC(struct callstat) rows;
	VEC(struct edge) edges;
	bool strips;
};

static void add(struct callstat_cost *to, struct callstat_cost cost)
{
	to->calls += cost.calls;
	to->primitive_calls += cost.primitive_calls;
	to->self_s += cost.self_s;
	to->total_s += cost.total_s;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *label_of(struct arena *a, const char *file, uint32_t line, const char *name)
{
	size_t n = strlen(name);

	if (line || strcmp(file, "~") != 0)
		return arena_printf(a, "%s:%u(%s)", file, line, name);
	return n > 2 && name[0] == '<' && name[n - 1] == '>'
		? arena_printf(a, "{%.*s}", (int)(n - 2), name + 1)
		: arena_strdup(a, name);
}

static uint32_t row_of(struct builder *b, const char *file, uint32_t line, const char *name)
{
	const char *slash = b->strips ? strrchr(file, '/') : NULL;
	struct buf key = BUF_INIT;
	uint32_t index;
	bool added;

	file = slash ? slash + 1 : file;
	buf_printf(&key, "%u:", line);
	buf_add(&key, file, strlen(file) + 1);
	buf_adds(&key, name);
	index = intern_add(&b->names, key.data, key.n, &added);
	buf_done(&key);
	if (added)
		vec_push(&b->rows,
			(struct callstat){ .file = arena_strdup(b->a, file),
				.line = line,
				.name = arena_strdup(b->a, name),
				.label = label_of(b->a, file, line, name) });
	return index;
}

static void add_edge(struct builder *b, uint32_t caller, uint32_t callee, struct callstat_cost cost)
{
	uint64_t key = (uint64_t)caller << 32 | callee, index;

	if (!map_find(&b->index, key, &index)) {
		index = b->edges.n;
		map_put(&b->index, key, index);
		vec_push(&b->edges, (struct edge){ .caller = caller, .callee = callee });
	}
	add(&b->edges.v[index].cost, cost);
}

static void add_stats(struct builder *b, const struct callstats *s)
{
	uint32_t *rows = xcalloc(s->n + 1, sizeof *rows);

	for (size_t i = 0; i < s->n; i++) {
		rows[i] = row_of(b, s->v[i].file, s->v[i].line, s->v[i].name);
		b->rows.v[rows[i]].is_listed |= s->v[i].is_listed;
		add(&b->rows.v[rows[i]].cost, s->v[i].cost);
	}
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].n_callers; k++)
			add_edge(b, rows[s->v[i].callers[k].other], rows[i],
				s->v[i].callers[k].cost);
	free(rows);
}

/* ---- from exact calls ------------------------------------------------------------------------ */

/* cProfile names functions by co_name, which is the last word of the qualified name. */
static const char *bare_name(const char *qualname)
{
	size_t n = strlen(qualname);
	const char *dot = NULL;

	if (n && qualname[n - 1] == '>') { /* "f.<locals>.<lambda>" */
		const char *open = strrchr(qualname, '<');

		return open ? open : qualname;
	}
	dot = strrchr(qualname, '.');
	return dot && dot[1] ? dot + 1 : qualname;
}

static uint32_t row_of_function(struct builder *b, const struct exact_function *f)
{
	size_t n = strlen(f->name);
	char *name;
	uint32_t row;

	if (!f->is_builtin)
		return row_of(b, f->file, f->first_line, bare_name(f->name));
	name = arena_strdup(b->a, f->name); /* braces are for showing */
	if (n > 2 && name[0] == '{' && name[n - 1] == '}') {
		name[0] = '<';
		name[n - 1] = '>';
	}
	row = row_of(b, "~", 0, name);
	return row;
}

static struct callstat_cost cost_of(const struct exact_cost *c)
{
	return (struct callstat_cost){ .calls = c->calls + c->resumes,
		.primitive_calls = c->primitive_calls + c->primitive_resumes,
		.self_s = units_is_known(c->self) ? c->self : 0, /* pstats has no unknown */
		.total_s = c->total };
}

static bool is_nothing(const struct callstat_cost *c)
{
	return !c->calls && !c->primitive_calls && !(c->self_s > 0) && !(c->total_s > 0);
}

static void add_exact(struct builder *b, const struct exact *x)
{
	uint32_t *rows = xcalloc(x->n_functions + 1, sizeof *rows);

	for (size_t i = 0; i < x->n_functions; i++) {
		struct callstat_cost cost = cost_of(&x->functions[i].cost);

		rows[i] = row_of_function(b, &x->functions[i]);
		b->rows.v[rows[i]].is_listed |= !is_nothing(&cost);
		add(&b->rows.v[rows[i]].cost, cost);
	}
	for (size_t i = 0; i < x->n_edges; i++)
		add_edge(b, rows[x->edges[i].caller], rows[x->edges[i].callee],
			cost_of(&x->edges[i].cost));
	free(rows);
}

/* ---- results --------------------------------------------------------------------------------- */

static int by_function(const void *a, const void *b, void *rows)
{
	const struct callstat *x = (const struct callstat *)rows +
		((const struct callstat_edge *)a)->other,
			      *y = (const struct callstat *)rows +
		((const struct callstat_edge *)b)->other;
	int files = strcmp(x->file, y->file);

	if (files || x->line == y->line)
		return files ? files : strcmp(x->name, y->name);
	return x->line < y->line ? -1 : 1;
}

static void link_edges(struct builder *b, struct callstat *rows, size_t n)
{
	struct callstat_edge *callers = arena_new_n(b->a, struct callstat_edge, b->edges.n + 1),
			     *callees = arena_new_n(b->a, struct callstat_edge, b->edges.n + 1);
	size_t caller_at = 0, callee_at = 0;

	vec_each (&b->edges, e) {
		rows[e->callee].n_callers++;
		rows[e->caller].n_callees++;
	}
	for (size_t i = 0; i < n; i++) {
		rows[i].callers = callers + caller_at;
		rows[i].callees = callees + callee_at;
		caller_at += rows[i].n_callers;
		callee_at += rows[i].n_callees;
		rows[i].n_callers = rows[i].n_callees = 0;
	}
	vec_each (&b->edges, e) {
		struct callstat *callee = &rows[e->callee], *caller = &rows[e->caller];

		callers[callee->callers - callers + (ptrdiff_t)callee->n_callers++] =
			(struct callstat_edge){ e->caller, e->cost };
		callees[caller->callees - callees + (ptrdiff_t)caller->n_callees++] =
			(struct callstat_edge){ e->callee, e->cost };
	}
	for (size_t i = 0; i < n; i++) {
		qsort_r(callers + (rows[i].callers - callers), rows[i].n_callers, sizeof *callers,
			by_function, rows);
		qsort_r(callees + (rows[i].callees - callees), rows[i].n_callees, sizeof *callees,
			by_function, rows);
	}
}

static const struct callstats *finish(struct builder *b)
{
	struct callstats *s = arena_new(b->a, struct callstats);
	struct callstat *rows = arena_new_n(b->a, struct callstat, b->rows.n + 1);

	for (size_t i = 0; i < b->rows.n; i++) {
		rows[i] = b->rows.v[i];
		s->n_listed += rows[i].is_listed;
		add(&s->all, rows[i].cost);
	}
	link_edges(b, rows, b->rows.n);
	s->v = rows;
	s->n = b->rows.n;
	intern_done(&b->names);
	map_done(&b->index);
	vec_done(&b->rows);
	vec_done(&b->edges);
	return s;
}

const struct callstats *callstats_build(struct arena *a, const struct exact *x)
{
	struct builder b = { .a = a };

	add_exact(&b, x);
	return finish(&b);
}

const struct callstats *callstats_sum(
	struct arena *a, const struct callstats *x, const struct callstats *y)
{
	struct builder b = { .a = a };

	add_stats(&b, x);
	add_stats(&b, y);
	return finish(&b);
}

const struct callstats *callstats_strip(struct arena *a, const struct callstats *x)
{
	struct builder b = { .a = a, .strips = true };

	add_stats(&b, x);
	return finish(&b);
}
