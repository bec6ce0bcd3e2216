/* SPDX-License-Identifier: MIT
 * See profile.h: the JSON of sampled time. */
#include "analyze/calltree.h"
#include "analyze/fidelity.h"
#include "analyze/neighbours.h"
#include "analyze/nodes.h"
#include "analyze/profile.h"
#include "analyze/stacks.h"
#include "base/json_write.h"
#include "view/profile.h"
#include "view/profile_parts.h"
#include "base/banned.h"

enum {
	TREE_DEPTH = 100
}; /* levels of JSON; deeper branches end there, their time stays in the totals */

/* A value under the key of seconds, which is null where it is of something else. */
static void json_seconds(struct json_writer *w, const char *key, enum unit unit, double value)
{
	json_kv_double(w, key, unit == UNIT_SECONDS ? value : UNITS_UNKNOWN);
}

/* … and the same under a key that says nothing of time. */
static void json_value(struct json_writer *w, const char *key, enum unit unit, double value)
{
	if (unit != UNIT_SECONDS)
		json_kv_double(w, key, value);
}

static void json_cost(const struct profile *p, const struct profile_cost *c, struct json_writer *w)
{
	json_seconds(w, "self_s", p->unit, c->self_value);
	json_seconds(w, "total_s", p->unit, c->total_value);
	json_seconds(w, "self_low_s", p->unit, c->self.low * p->value);
	json_seconds(w, "self_high_s", p->unit, c->self.high * p->value);
	json_seconds(w, "total_low_s", p->unit, c->total.low * p->value);
	json_seconds(w, "total_high_s", p->unit, c->total.high * p->value);
	json_value(w, "self", p->unit, c->self_value);
	json_value(w, "total", p->unit, c->total_value);
	json_kv_double(w, "self_samples", p->is_exact ? UNITS_UNKNOWN : (double)c->self_n);
	json_kv_double(w, "total_samples", p->is_exact ? UNITS_UNKNOWN : (double)c->total_n);
}

static void json_line(const struct profile *p, const struct profile_line *l, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_string(w, "file", l->file);
	json_kv_i64(w, "line", l->line);
	json_kv_string(w, "function", l->function);
	json_cost(p, &l->cost, w);
	json_key(w, "hits");
	json_null(w); /* sampling does not count */
	json_key(w, "hottest");
	if (l->column >= 0) {
		json_object_begin(w);
		json_kv_i64(w, "column", l->column);
		json_kv_i64(w, "end_column", l->end_column);
		json_kv_double(w, "share", l->column_share);
		json_object_end(w);
	} else {
		json_null(w);
	}
	json_object_end(w);
}

void profile_json(const struct profile *p, struct json_writer *w)
{
	json_kv_string(w, "unit", p->unit == UNIT_SECONDS ? "s" : profile_unit(p->unit));
	json_seconds(w, "sampled_s", p->unit, p->value);
	json_key(w, "functions");
	json_array_begin(w);
	for (size_t i = 0; i < p->n_functions; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", p->functions[i].name);
		json_kv_string(w, "file", p->functions[i].file);
		json_kv_u64(w, "line", p->functions[i].first_line);
		json_cost(p, &p->functions[i].cost, w);
		json_key(w, "calls");
		json_null(w);
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "lines");
	json_array_begin(w);
	for (size_t i = 0; i < p->n_lines; i++)
		json_line(p, &p->lines[i], w);
	json_array_end(w);
}

void profile_json_threads(const struct stacks *s, struct json_writer *w)
{
	json_key(w, "threads");
	json_array_begin(w);
	for (size_t i = 0; i < s->n_threads; i++) {
		const struct stack_thread *t = &s->threads[i];

		json_object_begin(w);
		json_kv_u64(w, "number", i + 1);
		json_kv_string(w, "name", *t->name ? t->name : NULL);
		json_kv_u64(w, "tid", t->tid);
		json_kv_u64(w, "pid", t->pid);
		json_kv_u64(w, "samples", t->n_samples);
		json_seconds(w, "all_s", s->unit, t->all);
		json_kv_double(w, "on_cpu_s", t->cpu_s);
		json_kv_double(w, "gil_s", t->gil_s);
		json_kv_double(w, "waiting_s", s->is_foreign ? UNITS_UNKNOWN : t->waiting_s);
		json_kv_bool(w, "is_idle", t->is_idle);
		json_seconds(w, "seconds", s->unit, t->value);
		json_value(w, "value", s->unit, t->value);
		json_kv_string(w, "mostly_in", frames_function(s->frames, t->top_leaf)->name);
		json_object_end(w);
	}
	json_array_end(w);
}

static void json_function(const struct stacks *s, uint32_t function, struct json_writer *w)
{
	const struct stack_function *f = frames_function(s->frames, function);

	json_kv_string(w, "name", f->name);
	json_kv_string(w, "file", f->file);
	json_kv_u64(w, "line", f->first_line);
}

static void json_node(const struct calltree_node *n, const struct stacks *s, unsigned depth,
	struct json_writer *w)
{
	json_object_begin(w);
	json_function(s, n->function, w);
	json_seconds(w, "self_s", s->unit, n->self);
	json_seconds(w, "total_s", s->unit, n->total);
	json_value(w, "self", s->unit, n->self);
	json_value(w, "total", s->unit, n->total);
	if (s->nodes->n)
		json_kv_u64(w, "calls", n->n_calls);
	json_kv_u64(w, "total_samples", n->total_n);
	json_kv_bool(w, "is_recursive", n->is_recursive);
	json_key(w, "children");
	json_array_begin(w);
	for (size_t i = 0; depth < TREE_DEPTH && i < n->n_children; i++)
		json_node(n->children[i], s, depth + 1, w);
	json_array_end(w);
	json_object_end(w);
}

void profile_json_tree(
	const struct calltree_node *root, const struct stacks *s, struct json_writer *w)
{
	json_key(w, "tree");
	json_array_begin(w);
	for (size_t i = 0; i < root->n_children; i++)
		json_node(root->children[i], s, 1, w);
	json_array_end(w);
}

static void json_neighbour(const struct neighbours *of, const struct neighbour *n,
	const struct stacks *s, struct json_writer *w)
{
	json_object_begin(w);
	if (n->is_none)
		json_kv_string(w, "name", NULL);
	else
		json_function(s, n->function, w);
	json_seconds(w, "seconds", s->unit, n->value);
	json_value(w, "value", s->unit, n->value);
	json_kv_u64(w, of->is_exact ? "calls" : "samples", n->n);
	json_kv_double(w, "share", of->total > 0 ? n->value / of->total : 0);
	json_object_end(w);
}

void profile_json_neighbours(const char *key, const struct neighbours *const *v, size_t n,
	bool is_callers, const struct stacks *s, struct json_writer *w)
{
	json_key(w, key);
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_object_begin(w);
		json_function(s, v[i]->function, w);
		json_seconds(w, "total_s", s->unit, v[i]->total);
		json_value(w, "total", s->unit, v[i]->total);
		json_key(w, key);
		json_array_begin(w);
		for (size_t k = 0; k < (is_callers ? v[i]->n_callers : v[i]->n_callees); k++)
			json_neighbour(
				v[i], is_callers ? &v[i]->callers[k] : &v[i]->callees[k], s, w);
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
}

void profile_json_fidelity(const struct fidelity *f, struct json_writer *w)
{
	json_key(w, "fidelity");
	json_object_begin(w);
	json_kv_string(w, "engine", f->engine);
	json_kv_string(w, "interpreter", f->interpreter);
	json_kv_string(w, "excluded", f->excluded);
	json_kv_double(w, "samples", f->samples);
	json_kv_double(w, "lost", f->lost);
	json_kv_double(w, "shortened", f->shortened);
	json_kv_double(w, "missed_ticks", f->missed_ticks);
	json_kv_double(w, "rate_asked_hz", f->rate_asked_hz);
	json_kv_double(w, "rate_reached_hz", f->rate_reached_hz);
	json_kv_double(w, "rate_lowered_by", f->lowered_by);
	json_kv_double(w, "timeline_events", f->timeline_events);
	json_kv_double(w, "timeline_bytes", f->timeline_bytes);
	json_kv_double(w, "timeline_lost", f->timeline_lost);
	json_kv_double(w, "own_cpu_s", f->own_cpu_s);
	json_kv_double(w, "slowdown_est", f->slowdown);
	json_object_end(w);
}

void profile_json_idle(const struct stacks *s, struct json_writer *w)
{
	json_key(w, "idle");
	json_object_begin(w);
	json_kv_u64(w, "threads", s->n_idle_threads);
	json_kv_u64(w, "samples_left_out", s->n_folded);
	json_object_end(w);
}
