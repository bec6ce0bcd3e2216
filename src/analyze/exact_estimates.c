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

/* Whose time a node's was while it was off: the nearest caller's that was watched all the time. NULL: the thread's. */
static struct exact_function *owner_of(struct exact_estimates *x, const struct node *n)
{
	uint32_t parent = n->parent;

	while (parent && !x->nodes->v[parent - 1].is_thread &&
		x->functions[x->rows[parent]].range.is_estimated)
		parent = x->nodes->v[parent - 1].parent;
	return !parent || x->nodes->v[parent - 1].is_thread ? NULL : &x->functions[x->rows[parent]];
}

static bool is_of(const struct exact_estimates *x, size_t node, uint32_t index)
{
	return !x->nodes->v[node].is_thread && x->rows[node + 1] == index;
}

/* Context by context. */
static void take_from_callers(
	struct exact_estimates *x, uint32_t index, const struct estimate *e, double seen)
{
	for (size_t i = 0; i < x->nodes->n && seen > 0; i++) {
		const struct node *n = &x->nodes->v[i];
		struct exact_function *from = is_of(x, i, index) ? owner_of(x, n) : NULL;

		if (from)
			take(from, e, (double)(n->calls + n->resumes) / seen);
	}
}

/* The time of all callers that estimates are taken from. */
static double time_there_is(struct exact_estimates *x)
{
	bool *is_owner = xcalloc(x->n_functions + 1, sizeof *is_owner);
	double there_s = 0;

	for (size_t i = 0; i < x->nodes->n; i++) {
		const struct node *n = &x->nodes->v[i];
		bool is_off = !n->is_thread && x->functions[x->rows[i + 1]].range.is_estimated;
		struct exact_function *from = is_off ? owner_of(x, n) : NULL;

		if (from)
			is_owner[from - x->functions] = true;
	}
	for (size_t i = 0; i < x->n_functions; i++)
		there_s += is_owner[i] ? x->functions[i].cost.self_s : 0;
	free(is_owner);
	return there_s;
}

static void apply(struct exact_estimates *x, struct exact_function *fn, struct estimate e)
{
	struct exact_cost *c = &fn->cost;
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

/* last: the newest record of each function that has one. */
static void apply_all(struct exact_estimates *x, const struct rec_budget *last)
{
	struct estimate *estimates = xcalloc(x->n_functions + 1, sizeof *estimates);
	double there_s = time_there_is(x), wanted_s = 0, part;

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
			apply(x, &x->functions[i], *e);
	}
	free(estimates);
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
	apply_all(x, last);
	free(last);
	return n;
}
