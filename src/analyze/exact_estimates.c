/* SPDX-License-Identifier: MIT
 * See exact_estimates.h. */
#include "analyze/exact_estimates.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/estimate.h"
#include "analyze/exact.h"
#include "analyze/frames.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* What tracing added to the own time of one call, as far as that is known. */
static double inside_ns(const struct exact_cost *c)
{
	double cost_s = c->raw.self_s - c->self_s;

	return c->calls ? fmax(cost_s, 0) / (double)c->calls * 1e9 : 0;
}

static struct exact_function *function_of(
	struct exact_estimates *x, struct frames *f, const struct rec_budget *r)
{
	uint32_t number = r->code ? frames_of_code(f, r->code, 0).function
				  : frames_of_builtin(f, r->builtin).function;

	for (size_t i = 0; i < x->n_functions; i++)
		if (x->functions[i].function == number)
			return &x->functions[i];
	return NULL;
}

static void scale(struct exact_cost *c, double calls, double resumes, double self)
{
	c->calls = (uint64_t)llround((double)c->calls * calls);
	c->primitive_calls = (uint64_t)llround((double)c->primitive_calls * calls);
	c->resumes = (uint64_t)llround((double)c->resumes * resumes);
	c->self_s *= self;
	c->total_s *= calls;
}

/* What is left of a time when this part of an estimate was another's. */
static void take(struct exact_function *from, const struct estimate *e, double part)
{
	struct exact_range *r = &from->range;
	double high_s = units_is_known(e->self_high_s) ? e->self_high_s : e->self_s;

	if (!from->is_mixed)
		r->self_low_s = r->self_high_s = from->cost.self_s;
	from->is_mixed = true;
	from->cost.self_s = fmax(from->cost.self_s - e->self_s * part, 0);
	r->self_low_s = fmax(r->self_low_s - high_s * part, 0);
	r->self_high_s = fmax(r->self_high_s - e->self_low_s * part, 0);
}

/* Its own time was charged to the nearest caller that was watched all the time, context by context. */
static void take_from_callers(
	struct exact_estimates *x, uint32_t index, const struct estimate *e, double seen)
{
	for (size_t i = 0; i < x->nodes->n && seen > 0; i++) {
		const struct node *n = &x->nodes->v[i];
		uint32_t parent = n->parent;

		if (n->is_thread || x->rows[i + 1] != index)
			continue;
		while (parent && !x->nodes->v[parent - 1].is_thread &&
			x->functions[x->rows[parent]].range.is_estimated)
			parent = x->nodes->v[parent - 1].parent;
		if (!parent || x->nodes->v[parent - 1].is_thread)
			continue;
		take(&x->functions[x->rows[parent]], e, (double)(n->calls + n->resumes) / seen);
	}
}

static void apply(struct exact_estimates *x, struct exact_function *fn, const struct rec_budget *r)
{
	struct exact_cost *c = &fn->cost;
	struct estimate e = estimate_of(r, inside_ns(c));
	double seen = (double)c->calls, seen_self = c->self_s;
	double calls = seen > 0 ? 1 + e.calls / seen : 1;
	double resumes = c->resumes ? 1 + e.resumes / (double)c->resumes : 1;
	double self = seen_self > 0 ? 1 + e.self_s / seen_self : 1;

	fn->range.calls_low = seen + e.calls_low;
	fn->range.calls_high = seen + e.calls_high;
	fn->range.self_low_s = seen_self + e.self_low_s;
	fn->range.self_high_s = seen_self + e.self_high_s;
	scale(c, calls, resumes, self);
	for (size_t i = 0; i < x->n_edges; i++)
		if (&x->functions[x->edges[i].callee] == fn)
			scale(&x->edges[i].cost, calls, resumes, self);
	take_from_callers(
		x, (uint32_t)(fn - x->functions), &e, seen + (double)c->resumes / resumes);
}

size_t exact_estimates_apply(struct exact_estimates *x, struct tables *t, struct frames *f)
{
	struct record_iter it = record_iter(t, RECORD_budget);
	struct rec_budget *last = xcalloc(x->n_functions + 1, sizeof *last);
	size_t n = 0;

	for (const struct rec_budget *r; (r = record_next(&it));) {
		struct exact_function *fn = function_of(x, f, r);

		if (!fn)
			continue;
		n += !fn->range.is_estimated;
		fn->range.is_estimated = true;
		last[fn - x->functions] = *r;
	}
	record_iter_done(&it);
	for (size_t i = 0; i < x->n_functions; i++)
		if (x->functions[i].range.is_estimated)
			apply(x, &x->functions[i], &last[i]);
	free(last);
	return n;
}
