/* SPDX-License-Identifier: MIT
 * See exact_estimates.h. */
#include "analyze/exact_estimates.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/estimate.h"
#include "analyze/exact.h"
#include "analyze/frames.h"
#include "base/map.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* What tracing added to the own time of one call, as far as that is known. */
static double inside_ns(const struct exact_cost *c)
{
	double cost_s = c->raw.self_s - c->self;

	return c->calls ? fmax(cost_s, 0) / (double)c->calls * 1e9 : 0;
}

static struct exact_function *function_of(struct exact_estimates *x, const struct map *functions,
	struct frames *f, const struct rec_budget *r)
{
	uint32_t number = r->code ? frames_of_code(f, r->code, 0).function
				  : frames_of_builtin(f, r->builtin).function;

	uint64_t index;

	return map_find(functions, number, &index) ? &x->functions[index] : NULL;
}

static void scale(struct exact_cost *c, double calls, double resumes, double self)
{
	c->calls = (uint64_t)llround((double)c->calls * calls);
	c->primitive_calls = (uint64_t)llround((double)c->primitive_calls * calls);
	c->resumes = (uint64_t)llround((double)c->resumes * resumes);
	c->self *= self;
	c->total *= calls;
}

/* What is left of a time when this part of an estimate was another's. */
static void take(struct exact_function *from, const struct estimate *e, double part)
{
	struct exact_range *r = &from->range;
	double high_s = units_is_known(e->self_high_s) ? e->self_high_s : e->self_s;

	if (!from->is_mixed)
		r->self_low_s = r->self_high_s = from->cost.self;
	from->is_mixed = true;
	from->cost.self = fmax(from->cost.self - e->self_s * part, 0);
	r->self_low_s = fmax(r->self_low_s - high_s * part, 0);
	r->self_high_s = fmax(r->self_high_s - e->self_low_s * part, 0);
}

/* What belongs to what, worked out once: functions may be as many as nodes. */
struct links {
	uint32_t *owner;                  /* by node: function, + 1; 0: the thread */
	uint32_t *first_node, *next_node; /* by function, by node: the next of that function, + 1 */
	uint32_t *first_edge, *next_edge; /* by callee, by edge, likewise */
};

/* Whose time a node's was while it was off: the nearest caller's that was watched all the time. Callers come first. */
static uint32_t owner_of(
	const struct exact_estimates *x, const uint32_t *owner, const struct node *n)
{
	if (!n->parent || x->nodes->v[n->parent - 1].is_thread)
		return 0;
	return x->functions[x->rows[n->parent]].range.is_estimated ? owner[n->parent - 1]
								   : x->rows[n->parent] + 1;
}

static struct links links_of(const struct exact_estimates *x)
{
	size_t n = x->nodes->n;
	struct links l = { .owner = xcalloc(n + 1, sizeof *l.owner),
		.first_node = xcalloc(x->n_functions + 1, sizeof *l.first_node),
		.next_node = xcalloc(n + 1, sizeof *l.next_node),
		.first_edge = xcalloc(x->n_functions + 1, sizeof *l.first_edge),
		.next_edge = xcalloc(x->n_edges + 1, sizeof *l.next_edge) };

	for (size_t i = 0; i < n; i++)
		l.owner[i] = owner_of(x, l.owner, &x->nodes->v[i]);
	for (size_t i = n; i-- > 0;) {
		uint32_t *first = &l.first_node[x->rows[i + 1]];

		if (x->nodes->v[i].is_thread)
			continue;
		l.next_node[i] = *first;
		*first = (uint32_t)i + 1;
	}
	for (size_t i = x->n_edges; i-- > 0;) {
		l.next_edge[i] = l.first_edge[x->edges[i].callee];
		l.first_edge[x->edges[i].callee] = (uint32_t)i + 1;
	}
	return l;
}

static void links_done(struct links *l)
{
	free(l->owner);
	free(l->first_node);
	free(l->next_node);
	free(l->first_edge);
	free(l->next_edge);
}

/* Context by context. */
static void take_from_callers(struct exact_estimates *x, const struct links *l, uint32_t index,
	const struct estimate *e, double seen)
{
	for (uint32_t i = seen > 0 ? l->first_node[index] : 0; i; i = l->next_node[i - 1]) {
		const struct node *n = &x->nodes->v[i - 1];

		if (l->owner[i - 1])
			take(&x->functions[l->owner[i - 1] - 1], e,
				((double)n->calls + (double)n->resumes) / seen);
	}
}

/* The time of all callers that estimates are taken from. */
static double time_there_is(const struct exact_estimates *x, const struct links *l)
{
	bool *is_owner = xcalloc(x->n_functions + 1, sizeof *is_owner);
	double there_s = 0;

	for (size_t i = 0; i < x->nodes->n; i++) {
		const struct node *n = &x->nodes->v[i];
		bool is_off = !n->is_thread && x->functions[x->rows[i + 1]].range.is_estimated;

		if (is_off && l->owner[i])
			is_owner[l->owner[i] - 1] = true;
	}
	for (size_t i = 0; i < x->n_functions; i++)
		there_s += is_owner[i] ? x->functions[i].cost.self : 0;
	free(is_owner);
	return there_s;
}

static void apply(struct exact_estimates *x, const struct links *l, struct exact_function *fn,
	struct estimate e)
{
	uint32_t index = (uint32_t)(fn - x->functions);
	struct exact_cost *c = &fn->cost;
	double seen = (double)c->calls, seen_self = c->self;
	double calls = seen > 0 ? 1 + e.calls / seen : 1;
	double resumes = c->resumes ? 1 + e.resumes / (double)c->resumes : 1;
	double self = seen_self > 0 ? 1 + e.self_s / seen_self : 1;

	fn->range.calls_low = seen + e.calls_low;
	fn->range.calls_high = seen + e.calls_high;
	fn->range.self_low_s = seen_self + e.self_low_s;
	fn->range.self_high_s = seen_self + e.self_high_s;
	scale(c, calls, resumes, self);
	for (uint32_t i = l->first_edge[index]; i; i = l->next_edge[i - 1])
		scale(&x->edges[i - 1].cost, calls, resumes, self);
	take_from_callers(x, l, index, &e, seen + (double)c->resumes / resumes);
}

/* last: the newest record of each function that has one. */
static void apply_all(struct exact_estimates *x, const struct rec_budget *last)
{
	struct estimate *estimates = xcalloc(x->n_functions + 1, sizeof *estimates);
	struct links l = links_of(x);
	double there_s = time_there_is(x, &l), wanted_s = 0, part;

	for (size_t i = 0; i < x->n_functions; i++)
		if (x->functions[i].range.is_estimated) {
			estimates[i] = estimate_of(&last[i], inside_ns(&x->functions[i].cost));
			wanted_s += estimates[i].self_s;
		}
	/* Estimates cannot be more than there is. */
	part = there_s > 0 && there_s < wanted_s ? there_s / wanted_s : 1;
	for (size_t i = 0; i < x->n_functions; i++) {
		struct estimate *e = &estimates[i];

		e->self_s *= part;
		e->self_low_s *= part;
		if (there_s > 0 && e->self_high_s > there_s)
			e->self_high_s = there_s;
		if (x->functions[i].range.is_estimated)
			apply(x, &l, &x->functions[i], *e);
	}
	links_done(&l);
	free(estimates);
}

size_t exact_estimates_apply(struct exact_estimates *x, struct tables *t, struct frames *f)
{
	struct record_iter it = record_iter(t, RECORD_budget);
	struct rec_budget *last = xcalloc(x->n_functions + 1, sizeof *last);
	struct map functions = MAP_INIT; /* number → index */
	size_t n = 0;

	for (size_t i = x->n_functions; i-- > 0;)
		map_put(&functions, x->functions[i].function, i);
	for (const struct rec_budget *r; (r = record_next(&it));) {
		struct exact_function *fn = function_of(x, &functions, f, r);

		if (!fn)
			continue;
		n += !fn->range.is_estimated;
		fn->range.is_estimated = true;
		last[fn - x->functions] = *r;
	}
	record_iter_done(&it);
	map_done(&functions);
	if (n)
		apply_all(x, last);
	free(last);
	return n;
}
