/* SPDX-License-Identifier: MIT
 * See nodes.h. */
#include "analyze/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

static const double CODE_SLOWER_MOST = 10; /* more is not believed */

struct event_cost { /* seconds */
	double inside, outside;
};

struct builder {
	struct arena *a;
	struct tables *t;
	struct frames *frames;
	struct map index; /* thread row and id → index in found */
	VEC(struct node) found;
	VEC(uint32_t) parent_ids; /* of found */
	struct event_cost python, c, resume;
	bool is_calibrated;
	bool has_costs; /* nodes have sums of their own */
	double cost_error, code_slower;
};

static uint64_t key_of(uint32_t thread, uint32_t id)
{
	return (uint64_t)thread << 32 | id;
}

static bool is_chosen(const struct nodes_options *o, uint32_t row)
{
	for (size_t i = 0; i < o->n_threads; i++)
		if (o->threads[i] == row)
			return true;
	return !o->threads;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_costs(struct builder *b)
{
	double *const parts[] = { &b->python.inside, &b->python.outside, &b->c.inside,
		&b->c.outside, &b->resume.inside, &b->resume.outside };
	struct record_iter it = record_iter(b->t, RECORD_meta);

	for (const struct rec_meta *m; (m = record_next(&it));) {
		const char *key = tables_string(b->t, m->key);
		char *text, *end;

		if (strncmp(key, "trace_co", 8) != 0)
			continue;
		text = arena_strndup(b->a, m->value.p, m->value.n);
		if (strcmp(key, "trace_cost_error") == 0)
			b->cost_error = strtod(text, NULL);
		if (strcmp(key, "trace_code_slower") == 0)
			b->code_slower = strtod(text, NULL);
		if (strcmp(key, "trace_cost_ns") != 0)
			continue;
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			double ns = strtod(text, &end);

			if (parts[i] == &b->resume.inside && end == text) {
				b->resume = b->python; /* recordings without it */
				break;
			}
			text = end;
			/* No event costs a millisecond: what says so is not believed. */
			*parts[i] = ns > 0 && ns < 1e6 ? ns / 1e9 : 0;
		}
		b->is_calibrated = true;
	}
	record_iter_done(&it);
}

static struct node node_of(struct builder *b, const struct rec_node *r)
{
	return (struct node){ .thread = r->thread,
		.code = r->code,
		.is_thread = !r->code && !r->builtin,
		.function = r->code ? frames_of_code(b->frames, r->code, 0).function
				    : frames_of_builtin(b->frames, r->builtin).function,
		.calls = r->calls,
		.resumes = r->resumes,
		.recursive_calls = r->recursive_calls < r->calls ? r->recursive_calls : r->calls,
		.raw = { (double)r->self_ns / 1e9, (double)r->inclusive_ns / 1e9 },
		.awaited_s = (double)r->awaited_ns / 1e9,
		.min_s = r->min_ns == RECORD_UNKNOWN ? UNITS_UNKNOWN : (double)r->min_ns / 1e9,
		.max_s = (double)r->max_ns / 1e9,
		.cost.self_s = (double)r->cost_ns / 1e9,
		.histogram = arena_copy(b->a, r->histogram.p, r->histogram.n),
		.n_histogram = r->histogram.n };
}

static void read_nodes(struct builder *b, const struct nodes_options *o)
{
	struct record_iter it = record_iter(b->t, RECORD_node);

	for (const struct rec_node *r; (r = record_next(&it));) {
		uint64_t at;

		if (!is_chosen(o, r->thread))
			continue;
		b->has_costs |= r->cost_ns != 0;
		if (map_find(&b->index, key_of(r->thread, r->id), &at)) {
			b->found.v[at] = node_of(b, r);
			b->parent_ids.v[at] = r->parent;
			continue;
		}
		map_put(&b->index, key_of(r->thread, r->id), b->found.n);
		vec_push(&b->found, node_of(b, r));
		vec_push(&b->parent_ids, r->parent);
	}
	record_iter_done(&it);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Parents before children: siblings are chained, roots begin, the chains follow breadth first. */
static size_t put_in_order(struct builder *b, struct node *to)
{
	size_t n = b->found.n, done = 0;
	uint32_t *first = xcalloc(n + 1, sizeof *first), *next = xcalloc(n + 1, sizeof *next),
		 *source = xcalloc(n + 1, sizeof *source);

	for (size_t i = n; i-- > 0;) { /* backwards, so that chains are in file order */
		uint64_t parent = 0;
		bool has = b->parent_ids.v[i] &&
			map_find(&b->index, key_of(b->found.v[i].thread, b->parent_ids.v[i]),
				&parent);
		uint32_t *head = &first[has ? parent + 1 : 0];

		next[i + 1] = *head;
		*head = (uint32_t)i + 1;
	}
	for (size_t at = 0; at <= done; at++) {
		uint32_t parent = at ? source[at - 1] + 1 : 0;

		for (uint32_t child = first[parent]; child; child = next[child]) {
			to[done] = b->found.v[child - 1];
			to[done].parent = (uint32_t)at;
			source[done++] = child - 1;
		}
	}
	free(first);
	free(next);
	free(source);
	return done;
}

/* ---- what tracing cost ----------------------------------------------------------------------- */

/* Where nodes have no sums. */
static void work_out_costs(const struct builder *b, struct node *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event_cost *c = v[i].code ? &b->python : &b->c;
		double calls = (double)v[i].calls, resumes = (double)v[i].resumes;
		double own = (double)v[i].recursive_calls;

		v[i].cost.self_s += calls * c->inside + resumes * b->resume.inside;
		if (v[i].parent) {
			v[v[i].parent - 1].cost.self_s +=
				(calls - own) * c->outside + resumes * b->resume.outside;
			v[i].cost.self_s += own * c->outside;
		}
	}
}

static void charge_costs(const struct builder *b, struct node *v, size_t n)
{
	bool is_known = b->cost_error <= NODES_ERROR_MOST;

	if (!b->has_costs)
		work_out_costs(b, v, n);
	for (size_t i = 0; i < n && !is_known; i++) /* what nobody knows is not taken off */
		v[i].cost.self_s = 0;
	for (size_t i = n; i-- > 0;) { /* children before parents */
		double more = v[i].cost.self_s - v[i].raw.self_s;

		/* An event's cost is known better than on which side of its stamp it is. */
		if (more > 0) {
			v[i].cost.self_s -= more;
			if (v[i].parent)
				v[v[i].parent - 1].cost.self_s += more;
		}
		v[i].cost.total_s += v[i].cost.self_s;
		if (v[i].parent)
			v[v[i].parent - 1].cost.total_s += v[i].cost.total_s;
		if (v[i].cost.total_s > v[i].raw.total_s)
			v[i].cost.total_s = v[i].raw.total_s;
	}
}

/* ---- only mine ------------------------------------------------------------------------------- */

/* What library code took becomes its caller's, or [library]'s where that is the thread itself. Parents stay
 * before their children. Returns how many are left. */
static size_t fold_library(struct builder *b, struct node *v, size_t n)
{
	uint32_t *now =
		xcalloc(n + 1, sizeof *now); /* index + 1 → index + 1 of what stands for it */
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct node x = v[i];
		uint32_t parent = now[x.parent];
		const struct stack_function *f = frames_function(b->frames, x.function);
		bool is_root = !parent || v[parent - 1].is_thread;

		if (f->is_library && !x.is_thread && !is_root) {
			v[parent - 1].raw.self_s += x.raw.self_s;
			v[parent - 1].cost.self_s += x.cost.self_s;
			now[i + 1] = parent;
			continue;
		}
		if (f->is_library && !x.is_thread)
			x.function = frames_library(b->frames).function;
		x.parent = parent;
		v[kept] = x;
		now[i + 1] = (uint32_t)++kept;
	}
	free(now);
	return kept;
}

const struct nodes *nodes_build(
	struct arena *a, struct tables *t, struct frames *f, const struct nodes_options *o)
{
	static const struct nodes_options all = { 0 };
	struct builder b = { .a = a, .t = t, .frames = f };
	struct nodes *r = arena_new(a, struct nodes);
	struct node *v;

	read_costs(&b);
	read_nodes(&b, o ? o : &all);
	v = arena_new_n(a, struct node, b.found.n + 1);
	r->n = put_in_order(&b, v);
	r->v = v;
	r->is_calibrated = b.is_calibrated;
	r->cost_error = b.cost_error;
	r->code_slower = b.code_slower >= 1 && b.code_slower < CODE_SLOWER_MOST ? b.code_slower : 1;
	charge_costs(&b, v, r->n);
	for (size_t i = 0; i < r->n; i++) {
		saturated_add(&r->n_events, saturated_sum(v[i].calls, v[i].resumes));
		r->cost_s += v[i].cost.self_s;
	}
	if (o && o->only_mine)
		r->n = fold_library(&b, v, r->n);
	map_done(&b.index);
	vec_done(&b.found);
	vec_done(&b.parent_ids);
	return r;
}

void node_add_histogram(const struct node *n, uint64_t to[NODE_BUCKETS])
{
	uint64_t value = 0;
	size_t bucket = 0;
	unsigned shift = 0;

	for (uint32_t i = 0; i < n->n_histogram && bucket < NODE_BUCKETS; i++) {
		if (shift < 64)
			value |= (uint64_t)(n->histogram[i] & 127) << shift;
		shift += 7;
		if (n->histogram[i] & 128)
			continue;
		saturated_add(&to[bucket++], value);
		value = 0;
		shift = 0;
	}
}
