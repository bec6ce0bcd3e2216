/* SPDX-License-Identifier: MIT
 * See functions.h. */
#include "json/functions.h"

#include "analyze/calls/exact.h"
#include "analyze/calls/nodes.h"
#include "analyze/code/frames.h"
#include "analyze/samples/calltree.h"
#include "analyze/samples/neighbours.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "json/values.h"
#include "base/banned.h"

enum { TREE_DEPTH = 100 }; /* levels; deeper branches end there, their time stays in the totals */

unsigned function_kind(const struct frames *f, uint32_t function)
{
	const struct stack_function *x = frames_function(f, function);

	return x->is_builtin ? 2 : x->is_synthetic ? 3 : x->is_library;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void cost_json(const struct profile *p, const struct profile_cost *c, struct json_writer *w)
{
	json_kv_double(w, "self", c->self_value);
	json_kv_double(w, "total", c->total_value);
	if (p->is_exact)
		return;
	json_kv_double(w, "self_low", c->self.low * p->value);
	json_kv_double(w, "self_high", c->self.high * p->value);
	json_kv_double(w, "total_low", c->total.low * p->value);
	json_kv_double(w, "total_high", c->total.high * p->value);
	json_kv_u64(w, "self_samples", c->self_n);
	json_kv_u64(w, "total_samples", c->total_n);
	if (!p->has_counts)
		return;
	json_kv_double(w, "self_blocks", c->self_count);
	json_kv_double(w, "total_blocks", c->total_count);
}

/* Of functions that a budget had switched off for some time; what was counted throughout has no range. */
static void estimate_json(
	const struct exact_function *f, const struct exact *x, struct json_writer *w)
{
	const struct exact_range *r = &f->range;

	json_kv_bool(w, "is_estimated", r->is_estimated);
	json_kv_bool(w, "calls_are_estimated", r->are_calls_estimated);
	json_kv_bool(w, "self_is_rest", f->is_mixed);
	if (!x->n_estimated)
		return;
	json_kv_double(w, "calls_low", r->are_calls_estimated ? r->calls_low : UNITS_UNKNOWN);
	json_kv_double(w, "calls_high", r->are_calls_estimated ? r->calls_high : UNITS_UNKNOWN);
}

static void details_json(
	const struct exact_function *f, const struct exact *x, struct json_writer *w)
{
	json_kv_double(w, "awaited_s", x->has_contexts ? f->awaited_s : UNITS_UNKNOWN);
	json_kv_double(w, "min_s", f->min_s);
	json_kv_double(w, "median_s", f->p50_s);
	json_kv_double(w, "p99_s", f->p99_s);
	json_kv_double(w, "max_s", f->max_s);
	estimate_json(f, x, w);
}

static void counted_json(
	const struct exact_function *f, const struct exact *x, struct json_writer *w)
{
	const struct exact_cost *c = &f->cost;
	struct interval self = exact_self(f), total = exact_total(f);
	bool is_time = x->unit == UNIT_SECONDS;

	json_kv_double(w, "self", c->self);
	json_kv_double(w, "total", c->total);
	json_kv_double(w, "self_low", self.low);
	json_kv_double(w, "self_high", self.high);
	json_kv_double(w, "total_low", total.low);
	json_kv_double(w, "total_high", total.high);
	json_kv_bool(w, "self_is_bound", exact_is_bound(self));
	json_kv_bool(w, "total_is_bound", exact_is_bound(total));
	json_kv_double(w, "raw_self", is_time ? c->raw.self_s : UNITS_UNKNOWN);
	json_kv_double(w, "raw_total", is_time ? c->raw.total_s : UNITS_UNKNOWN);
	json_kv_u64(w, "calls", c->calls);
	json_kv_u64(w, "primitive_calls", c->primitive_calls);
	json_kv_double(w, "resumes", x->has_contexts ? (double)c->resumes : UNITS_UNKNOWN);
}

static void sampled_json(
	const struct profile *p, const struct profile_function *f, struct json_writer *w)
{
	cost_json(p, &f->cost, w);
	json_kv_double(w, "calls", UNITS_UNKNOWN); /* sampling does not count */
}

static void place_json(
	uint32_t id, const char *name, const char *file, uint32_t line, struct json_writer *w)
{
	json_kv_u64(w, "function_id", id);
	json_kv_string(w, "name", name);
	json_kv_string(w, "file", file);
	json_kv_u64(w, "line", line);
}

void functions_json_rows(const struct profile *p, const struct exact *exact,
	const struct frames *frames, const struct json_rows *rows, struct json_writer *w)
{
	json_array_begin(w);
	for (size_t i = rows->first; i < p->n_functions && i - rows->first < rows->n; i++) {
		const struct profile_function *f = &p->functions[i];

		json_object_begin(w);
		place_json(f->function, f->name, f->file, f->first_line, w);
		json_kv_u64(w, "kind", function_kind(frames, f->function));
		if (exact)
			counted_json(&exact->functions[f->exact], exact, w);
		else
			sampled_json(p, f, w);
		if (exact && rows->details)
			details_json(&exact->functions[f->exact], exact, w);
		json_object_end(w);
	}
	json_array_end(w);
}

void trace_json(const struct exact *x, struct json_writer *w)
{
	bool is_time = x->unit == UNIT_SECONDS;

	json_key(w, "trace");
	json_object_begin(w);
	json_kv_u64(w, "calls", x->calls);
	json_kv_u64(w, "primitive_calls", x->primitive_calls);
	json_kv_double(w, "resumes", x->has_contexts ? (double)x->resumes : UNITS_UNKNOWN);
	json_kv_u64(w, "left_out", x->n_left_out);
	json_kv_u64(w, "missing", x->n_missing);
	json_kv_double(w, "self", x->self);
	json_kv_double(w, "self_low", x->self_interval.low);
	json_kv_double(w, "self_high", x->self_interval.high);
	json_kv_bool(w, "self_is_bound", exact_is_bound(x->self_interval));
	json_kv_double(w, "raw_self", is_time ? x->raw_self : UNITS_UNKNOWN);
	json_kv_u64(w, "estimated_functions", x->n_estimated);
	json_kv_u64(w, "calls_estimated_functions", x->n_calls_estimated);
	json_kv_double(w, "cost_s", x->is_calibrated ? x->cost_s : UNITS_UNKNOWN);
	json_kv_double(w, "event_cost_s", x->is_calibrated ? x->event_s : UNITS_UNKNOWN);
	json_kv_double(
		w, "cost_error_share", x->is_calibrated ? x->nodes->cost_error : UNITS_UNKNOWN);
	json_kv_double(w, "code_slower", x->is_calibrated ? x->nodes->code_slower : UNITS_UNKNOWN);
	json_object_end(w);
}

/* ---- tree ------------------------------------------------------------------------------------ */

static void function_json(const struct frames *frames, uint32_t function, struct json_writer *w)
{
	const struct stack_function *f = frames_function(frames, function);

	place_json(function, f->name, f->file, f->first_line, w);
}

static void node_json(const struct calltree_node *n, const struct stacks *s, unsigned depth,
	struct json_writer *w)
{
	json_object_begin(w);
	function_json(s->frames, n->function, w);
	json_kv_double(w, "self", n->self);
	json_kv_double(w, "total", n->total);
	if (s->nodes->n) {
		json_kv_double(w, "total_low", n->total_interval.low);
		json_kv_double(w, "total_high", n->total_interval.high);
		json_kv_bool(w, "total_is_bound", exact_is_bound(n->total_interval));
		json_kv_u64(w, "calls", n->n_calls);
	}
	if (!s->nodes->n)
		json_kv_u64(w, "total_samples", n->total_n);
	json_kv_bool(w, "is_recursive", n->is_recursive);
	json_key(w, "children");
	json_array_begin(w);
	for (size_t i = 0; depth < TREE_DEPTH && i < n->n_children; i++)
		node_json(n->children[i], s, depth + 1, w);
	json_array_end(w);
	json_object_end(w);
}

void tree_json(const struct calltree_node *root, const struct stacks *s, struct json_writer *w)
{
	json_key(w, "tree");
	json_array_begin(w);
	for (size_t i = 0; i < root->n_children; i++)
		node_json(root->children[i], s, 1, w);
	json_array_end(w);
}

/* ---- callers and callees --------------------------------------------------------------------- */

static void neighbour_json(const struct neighbours *of, const struct neighbour *n,
	const struct frames *f, struct json_writer *w)
{
	static const char *const nobody[] = { "function_id", "name", "file", "line" };

	json_object_begin(w);
	if (!n->is_none)
		function_json(f, n->function, w);
	for (size_t i = 0; n->is_none && i < sizeof nobody / sizeof *nobody; i++)
		json_kv_string(w, nobody[i], NULL);
	json_kv_double(w, "value", n->value);
	if (of->is_exact) {
		json_kv_double(w, "value_low", n->interval.low);
		json_kv_double(w, "value_high", n->interval.high);
	}
	json_kv_u64(w, of->is_exact ? "calls" : "samples", n->n);
	json_kv_double(w, "total_share", of->total > 0 ? n->value / of->total : 0);
	json_object_end(w);
}

void neighbours_json_rows(const struct neighbours *of, bool is_callers, size_t n,
	const struct frames *f, struct json_writer *w)
{
	const struct neighbour *v = is_callers ? of->callers : of->callees;
	size_t n_rows = is_callers ? of->n_callers : of->n_callees;

	json_array_begin(w);
	for (size_t i = 0; i < n_rows && i < n; i++)
		neighbour_json(of, &v[i], f, w);
	json_array_end(w);
}

void neighbours_json(const char *key, const struct neighbours *const *v, size_t n, bool is_callers,
	const struct frames *f, struct json_writer *w)
{
	json_key(w, key);
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_object_begin(w);
		function_json(f, v[i]->function, w);
		json_kv_double(w, "total", v[i]->total);
		json_key(w, key);
		neighbours_json_rows(v[i], is_callers, SIZE_MAX, f, w);
		json_object_end(w);
	}
	json_array_end(w);
}
