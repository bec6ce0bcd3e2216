/* SPDX-License-Identifier: MIT
 * See exact.h. */
#include "analyze/calls/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact_estimates.h"
#include "analyze/code/frames.h"
#include "analyze/origin.h"
#include "analyze/samples/neighbours.h"
#include "analyze/samples/profile.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

static const uint32_t NO_EDGE = UINT32_MAX;

/* Activations on the path looked at. */
struct active {
	uint32_t n;
	/* without those that ran already when tracing began: whose calls nobody saw */
	uint32_t n_counted;
};

struct row {
	struct exact_function out;
	uint64_t histogram[NODE_BUCKETS];
	struct active active;
};

struct link {
	struct exact_edge out;
	struct active active;
};

struct builder {
	struct frames *frames;
	const struct nodes *nodes;
	struct map functions; /* number → index */
	struct map links;     /* caller and callee → index */
	VEC(struct row) rows;
	VEC(struct link) edges;
	/* By node + 1, owned: */
	uint32_t *rows_of, *edges_of; /* the index of its function, and of its edge */
	unsigned char *outer;         /* exact_estimates.h */
};

static uint32_t row_of(struct builder *b, uint32_t function)
{
	const struct stack_function *f;
	uint64_t index;

	if (map_find(&b->functions, function, &index))
		return (uint32_t)index;
	f = frames_function(b->frames, function);
	map_put(&b->functions, function, b->rows.n);
	vec_push(&b->rows,
		(struct row){ .out = { .function = function,
				      .name = f->name,
				      .file = f->file,
				      .first_line = f->first_line,
				      .is_builtin = f->is_builtin,
				      .min_s = UNITS_UNKNOWN,
				      .max_s = UNITS_UNKNOWN } });
	return (uint32_t)b->rows.n - 1;
}

static uint32_t edge_of(struct builder *b, uint32_t caller, uint32_t callee)
{
	uint64_t key = (uint64_t)caller << 32 | callee, index;

	if (map_find(&b->links, key, &index))
		return (uint32_t)index;
	map_put(&b->links, key, b->edges.n);
	vec_push(&b->edges, (struct link){ .out = { .caller = caller, .callee = callee } });
	return (uint32_t)b->edges.n - 1;
}

/* ---- from contexts --------------------------------------------------------------------------- */

static bool is_counted(const struct node *n)
{
	return n->calls || n->resumes;
}

/* Times of what ran already hold those of what it calls; its call is none that was counted. */
static void add_cost(struct exact_cost *to, const struct node *n, const struct active *active)
{
	saturated_add(&to->calls, n->calls);
	saturated_add(&to->resumes, n->resumes);
	to->raw.self_s += n->raw.self_s;
	to->self += n->raw.self_s - n->cost.self_s;
	to->low.self_s += n->raw.self_s - n->cost_most.self_s;
	to->high.self_s += n->raw.self_s - n->cost_least.self_s;
	if (!active->n_counted) {
		saturated_add(&to->primitive_calls, n->calls - n->recursive_calls);
		saturated_add(&to->primitive_resumes, n->resumes);
	}
	if (!active->n) {
		to->raw.total_s += n->raw.total_s;
		to->total += n->raw.total_s - n->cost.total_s;
		to->low.total_s += n->raw.total_s - n->cost_most.total_s;
		to->high.total_s += n->raw.total_s - n->cost_least.total_s;
	}
}

static void add_activation(struct exact_cost *to, const struct node *n, struct active *active)
{
	add_cost(to, n, active);
	active->n++;
	active->n_counted += is_counted(n);
}

static void end_activation(const struct node *n, struct active *active)
{
	active->n--;
	active->n_counted -= is_counted(n);
}

/* Returns whether it is the outermost one of its function, and of its edge. */
static unsigned char enter(struct builder *b, const struct node *n, uint32_t row, uint32_t edge)
{
	unsigned char outer = 0;
	struct row *r;

	if (n->is_thread)
		return 0; /* it has no row, and there may be none at all */
	r = &b->rows.v[row];
	outer |= r->active.n == 0 ? EXACT_OUTERMOST : 0;
	add_activation(&r->out.cost, n, &r->active);
	r->out.awaited_s += n->awaited_s;
	if (n->max_s >
		0) { /* else no call of it has ended: only resumed, given up or still running */
		r->out.min_s = fmin(r->out.min_s, n->min_s);
		r->out.max_s = fmax(r->out.max_s, n->max_s);
	}
	node_add_histogram(n, r->histogram);
	if (edge != NO_EDGE) {
		outer |= b->edges.v[edge].active.n == 0 ? EXACT_OUTERMOST_EDGE : 0;
		add_activation(&b->edges.v[edge].out.cost, n, &b->edges.v[edge].active);
	}
	return outer;
}

static void leave(struct builder *b, const struct node *n, uint32_t row, uint32_t edge)
{
	if (n->is_thread)
		return;
	end_activation(n, &b->rows.v[row].active);
	if (edge != NO_EDGE)
		end_activation(n, &b->edges.v[edge].active);
}

static bool is_called(const struct nodes *nodes, const struct node *n)
{
	return n->parent && !n->is_thread && !nodes->v[n->parent - 1].is_thread;
}

/* Depth first, so that what is active is what is on the path. `next` goes through the children of a node, which are no
 * neighbours where library code between them and it was left out. */
static void walk(struct builder *b)
{
	size_t n = b->nodes->n, at = 0;
	uint32_t *next = xcalloc(n + 2, sizeof *next), *sibling = xcalloc(n + 2, sizeof *sibling),
		 *rows = xcalloc(n + 2, sizeof *rows), *edges = xcalloc(n + 2, sizeof *edges);
	unsigned char *outer = xcalloc(n + 2, 1);

	for (size_t i = n; i-- > 0;) {
		sibling[i + 1] = next[b->nodes->v[i].parent];
		next[b->nodes->v[i].parent] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < n; i++) {
		const struct node *x = &b->nodes->v[i];

		rows[i + 1] = x->is_thread ? 0 : row_of(b, x->function);
		edges[i + 1] =
			is_called(b->nodes, x) ? edge_of(b, rows[x->parent], rows[i + 1]) : NO_EDGE;
	}
	for (;;) { /* at: index + 1 of the node that is active, 0: the root */
		uint32_t child = next[at];

		if (child) {
			next[at] = sibling[child];
			at = child;
			outer[at] = enter(b, &b->nodes->v[at - 1], rows[at], edges[at]);
		} else if (at) {
			leave(b, &b->nodes->v[at - 1], rows[at], edges[at]);
			at = b->nodes->v[at - 1].parent;
		} else {
			break;
		}
	}
	free(next);
	free(sibling);
	b->rows_of = rows;
	b->edges_of = edges;
	b->outer = outer;
}

/* ---- from totals ----------------------------------------------------------------------------- */

static uint32_t total_row(struct builder *b, uint32_t code, uint32_t builtin)
{
	return row_of(b,
		code ? frames_of_code(b->frames, code, 0).function
		     : frames_of_builtin(b->frames, builtin).function);
}

static void read_totals(struct builder *b, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_call_total);

	for (const struct rec_call_total *r; (r = record_next(&it));) {
		uint32_t row = total_row(b, r->code, r->builtin);
		struct exact_cost *c = &b->rows.v[row].out.cost;

		if (r->is_edge) {
			uint32_t caller = total_row(b, r->caller_code, r->caller_builtin),
				 edge = edge_of(b, caller, row);

			c = &b->edges.v[edge].out.cost;
		}
		saturated_add(&c->calls, r->calls);
		saturated_add(&c->primitive_calls, r->primitive_calls);
		c->self += r->self_s;
		c->total += r->total_s;
		c->raw.self_s += r->self_s;
		c->raw.total_s += r->total_s;
	}
	record_iter_done(&it);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Durations of a bucket are taken as spread evenly over their logarithm. */
static double quantile(const uint64_t *histogram, double q, double least, double most)
{
	double n = 0, before = 0;

	for (size_t i = 0; i < NODE_BUCKETS; i++)
		n += (double)histogram[i];
	for (size_t i = 0; n > 0 && i < NODE_BUCKETS; i++) {
		double here = (double)histogram[i];

		if (here > 0 && before + here >= q * n) {
			double s = exp2((double)i + (q * n - before) / here) / 1e9;

			return fmin(fmax(s, least), most);
		}
		before += here;
	}
	return UNITS_UNKNOWN;
}

static int by_callee(const void *a, const void *b)
{
	const struct exact_edge *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

static void finish(struct arena *a, struct builder *b, struct tables *t, struct exact *x)
{
	static const struct node_times nobody_knows = { UNITS_UNKNOWN, UNITS_UNKNOWN };
	struct exact_function *functions = arena_new_n(a, struct exact_function, b->rows.n);
	struct exact_edge *edges = arena_new_n(a, struct exact_edge, b->edges.n);

	for (size_t i = 0; i < b->rows.n; i++) {
		struct exact_function *f = &functions[i];

		*f = b->rows.v[i].out;
		if (!b->nodes->is_calibrated)
			f->cost.low = f->cost.high = nobody_knows;
		f->p50_s = quantile(b->rows.v[i].histogram, 0.5, f->min_s, f->max_s);
		f->p99_s = quantile(b->rows.v[i].histogram, 0.99, f->min_s, f->max_s);
	}
	for (size_t i = 0; i < b->edges.n; i++) {
		edges[i] = b->edges.v[i].out;
		if (!b->nodes->is_calibrated)
			edges[i].cost.low = edges[i].cost.high = nobody_knows;
	}
	x->n_estimated = exact_estimates_apply(
		&(struct exact_estimates){ functions, b->rows.n, edges, b->edges.n, b->nodes,
			b->rows_of, b->edges_of, b->outer },
		t, b->frames);
	for (size_t i = 0; i < b->rows.n; i++) {
		const struct exact_function *f = &functions[i];

		x->n_calls_estimated += f->range.are_calls_estimated;
		saturated_add(&x->calls, f->cost.calls);
		saturated_add(&x->primitive_calls, f->cost.primitive_calls);
		saturated_add(&x->resumes, f->cost.resumes);
		x->self += f->cost.self;
		x->raw_self += f->cost.raw.self_s;
	}
	x->self_interval = (struct interval){ UNITS_UNKNOWN, UNITS_UNKNOWN };
	if (b->nodes->is_calibrated && !x->n_estimated)
		x->self_interval = (struct interval){ fmin(x->raw_self - b->nodes->most_s, x->self),
			fmax(x->raw_self - b->nodes->least_s, x->self) };
	if (b->edges.n)
		qsort(edges, b->edges.n, sizeof *edges, by_callee);
	x->functions = functions;
	x->n_functions = b->rows.n;
	x->edges = edges;
	x->n_edges = b->edges.n;
}

/* Of the contexts that are left, when library code is part of what called it. */
static uint64_t count_events(const struct nodes *nodes)
{
	uint64_t n = 0;

	for (size_t i = 0; i < nodes->n; i++)
		saturated_add(&n, saturated_sum(nodes->v[i].calls, nodes->v[i].resumes));
	return n;
}

/* What the agents counted and no context has; 0 where that cannot be told. */
static uint64_t read_missing(struct tables *t, const struct nodes *nodes)
{
	struct record_iter it = record_iter(t, RECORD_meta);
	uint64_t n = 0;

	for (const struct rec_meta *m; (m = record_next(&it));) {
		char text[24] = "";

		if (strcmp(tables_string(t, m->key), "trace_counted") != 0)
			continue;
		memcpy(text, m->value.p, m->value.n < sizeof text ? m->value.n : sizeof text - 1);
		n = strtoull(text, NULL, 10);
	}
	record_iter_done(&it);
	return nodes->is_of_all && n > nodes->n_events ? n - nodes->n_events : 0;
}

const struct exact *exact_build(
	struct arena *a, struct tables *t, struct frames *f, const struct nodes *nodes)
{
	struct builder b = { .frames = f, .nodes = nodes };
	struct exact *x = arena_new(a, struct exact);

	x->nodes = b.nodes;
	x->unit = origin_build(a, t).unit;
	x->n_events = b.nodes->n_events;
	x->n_missing = read_missing(t, b.nodes);
	x->cost_s = b.nodes->cost_s;
	x->event_s = b.nodes->n_events ? b.nodes->event_s / (double)b.nodes->n_events : 0;
	x->is_calibrated = b.nodes->is_calibrated;
	x->has_contexts = b.nodes->n > 0;
	walk(&b);
	read_totals(&b, t);
	x->n_left_out = b.nodes->n_events - count_events(b.nodes);
	finish(a, &b, t, x);
	x->is_timed = x->raw_self > 0;
	free(b.rows_of);
	free(b.edges_of);
	free(b.outer);
	map_done(&b.functions);
	map_done(&b.links);
	vec_done(&b.rows);
	vec_done(&b.edges);
	return x->n_functions ? x : NULL;
}

struct interval exact_self(const struct exact_function *f)
{
	const struct exact_range *r = &f->range;

	return r->is_estimated || f->is_mixed
		? (struct interval){ r->self_low_s, r->self_high_s }
		: (struct interval){ f->cost.low.self_s, f->cost.high.self_s };
}

struct interval exact_total(const struct exact_function *f)
{
	return f->range.is_estimated
		? (struct interval){ UNITS_UNKNOWN, UNITS_UNKNOWN }
		: (struct interval){ f->cost.low.total_s, f->cost.high.total_s };
}

bool exact_is_bound(struct interval of)
{
	return units_is_known(of.low) && units_is_known(of.high) &&
		of.high - of.low > EXACT_WIDE * (of.high + of.low);
}

size_t exact_callers(const struct exact *x, uint32_t callee, const struct exact_edge **ret)
{
	size_t low = bisect(i, x->n_edges, x->edges[i].callee < callee);
	size_t n = 0;

	while (low + n < x->n_edges && x->edges[low + n].callee == callee)
		n++;
	*ret = x->edges + low;
	return n;
}

/* ---- for what works on samples, too ---------------------------------------------------------- */

const struct profile *exact_profile(struct arena *a, const struct exact *x)
{
	struct profile p = { .value = x->self, .unit = x->unit, .is_exact = true };
	struct profile_function *functions =
		arena_new_n(a, struct profile_function, x->n_functions);

	for (size_t i = 0; i < x->n_functions; i++) {
		const struct exact_function *f = &x->functions[i];
		struct interval self = exact_self(f), total = exact_total(f);

		functions[i] = (struct profile_function){ .name = f->name,
			.file = f->file,
			.first_line = f->first_line,
			.is_synthetic = f->is_builtin,
			.function = f->function,
			.exact = (uint32_t)i,
			.calls = f->cost.calls,
			.primitive_calls = f->cost.primitive_calls,
			.cost = { .self_value = f->cost.self,
				.total_value = f->cost.total,
				.self = self,
				.total = total } };
	}
	p.functions = functions;
	p.n_functions = x->n_functions;
	return profile_sorted(a, &p, PROFILE_SELF);
}

static struct neighbour neighbour_of(
	const struct exact *x, uint32_t other, const struct exact_cost *c)
{
	return (struct neighbour){ .function = x->functions[other].function,
		.n = saturated_sum(c->calls, c->resumes),
		.value = c->total,
		.interval = { c->low.total_s, c->high.total_s },
		.raw = c->raw.total_s };
}

const struct neighbours *exact_neighbours(struct arena *a, const struct exact *x, uint32_t function)
{
	struct neighbours *r = arena_new(a, struct neighbours);
	struct neighbour *callers, *callees;
	const struct exact_edge *edges;
	uint32_t at = 0;
	size_t n;

	while (at + 1 < x->n_functions && x->functions[at].function != function)
		at++;
	n = exact_callers(x, at, &edges);
	callers = arena_new_n(a, struct neighbour, n + 1);
	callees = arena_new_n(a, struct neighbour, x->n_edges + 1);
	for (size_t i = 0; i < n; i++)
		callers[r->n_callers++] = neighbour_of(x, edges[i].caller, &edges[i].cost);
	for (size_t i = 0; i < x->n_edges; i++)
		if (x->edges[i].caller == at)
			callees[r->n_callees++] =
				neighbour_of(x, x->edges[i].callee, &x->edges[i].cost);
	callees[r->n_callees++] = (struct neighbour){ .is_none = true,
		.value = x->functions[at].cost.self,
		.interval = exact_self(&x->functions[at]),
		.raw = x->functions[at].cost.raw.self_s };
	neighbours_sort(callers, r->n_callers);
	neighbours_sort(callees, r->n_callees);
	r->function = function;
	r->is_exact = true;
	r->total_n = saturated_sum(x->functions[at].cost.calls, x->functions[at].cost.resumes);
	r->total = x->functions[at].cost.total;
	r->callers = callers;
	r->callees = callees;
	return r;
}
