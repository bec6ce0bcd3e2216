/* SPDX-License-Identifier: MIT
 * See nodes.h. */
#include "analyze/calls/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/calls/nodes_window.h"
#include "analyze/code/frames.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

static const double CODE_SLOWER_MOST = 10; /* more is not believed */

/* How far costs are from the calibrated ones in programs that calibration does not run (docs/decisions/0048). */
static const struct spread {
	double least, most; /* as parts of the calibrated cost */
} CALLS = { 0.84, 1.18 }, C_CALLS = { 0.8, 1.25 };

static const double ERROR_SPREAD = 0.5;       /* of what calibration says it may be off by */
static const double PACE_SPREAD = 0.2;        /* of how much the pace has changed since */
static const double SPLIT = 0.1;              /* of an event, on the other side of its stamp */
static const double CODE_SLOWER_SPREAD = 1.8; /* of what code without calls was slower by */
static const double CODE_SLOWER_LEAST = 1.08; /* … whatever it was: caches, places in memory */
static const double CODE_FASTER = 0.97;       /* … and as two runs differ the other way */

#define METHOD "{method "
static const double DEARER_LEAST = 0.5, DEARER_MOST = 2; /* more is not believed */

struct event_cost { /* seconds */
	double inside, outside;
};

/* What events should have cost a node, by their numbers. */
struct expected {
	double summed_s; /* as the agent sums it up, at one cost for all of C */
	double likely_s, least_s, most_s;
	/* may be others' instead, or more; own: of its own calls only */
	double split_s, own_split_s;
};

struct builder {
	struct arena *a;
	struct tables *t;
	struct frames *frames;
	struct map index; /* thread row and id → index in found */
	VEC(struct node) found;
	VEC(uint32_t) ids, parent_ids; /* of found */
	VEC(uint64_t) places;          /* likewise */
	struct event_cost python, c, resume;
	double c_function, c_method; /* as parts of c, which is of both; 0: not known apart */
	bool is_calibrated;
	bool has_costs; /* nodes have sums of their own */
	double cost_error, code_slower;
	double pace; /* of the program, as a part of what it was during calibration */
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
		if (strcmp(key, "trace_cost_error") == 0) {
			b->cost_error = strtod(text, &end);
			b->pace = strtod(end, NULL);
		}
		if (strcmp(key, "trace_cost_c") == 0) {
			b->c_function = strtod(text, &end);
			b->c_method = strtod(end, NULL);
		}
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
			b->places.v[at] = r->place;
			continue;
		}
		map_put(&b->index, key_of(r->thread, r->id), b->found.n);
		vec_push(&b->found, node_of(b, r));
		vec_push(&b->ids, r->id);
		vec_push(&b->parent_ids, r->parent);
		vec_push(&b->places, r->place);
	}
	record_iter_done(&it);
}

/* ---- a window of time ------------------------------------------------------------------------ */

static bool did_something(const struct node *x)
{
	return x->calls || x->resumes || x->raw.total_s > 0 || x->is_thread;
}

/* Contexts in which nothing happened are left out; those that led to something were open, so they stay. */
static void keep_active(struct builder *b)
{
	size_t n = 0;

	map_done(&b->index);
	b->index = (struct map)MAP_INIT;
	for (size_t i = 0; i < b->found.n; i++) {
		if (!did_something(&b->found.v[i]))
			continue;
		b->found.v[n] = b->found.v[i];
		b->ids.v[n] = b->ids.v[i];
		b->parent_ids.v[n] = b->parent_ids.v[i];
		map_put(&b->index, key_of(b->found.v[n].thread, b->ids.v[n]), n);
		n++;
	}
	b->found.n = n;
}

/* Whether it could be. */
static bool cut_to_window(struct builder *b, const struct nodes_options *o)
{
	if ((!o->from_ns && !o->to_ns) || !b->found.n ||
		!nodes_window_cut(b->a, b->t, b->frames,
			&(struct timeline_window){ o->from_ns, o->to_ns }, b->found.v, b->places.v,
			b->found.n))
		return false;
	keep_active(b);
	return true;
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

static double clamped(double x, double least, double most)
{
	return x < least ? least : x > most ? most : x;
}

/* by: how far it may be off, as a part of it; apart: how much dearer this one is than all of its kind. */
static void expect(
	struct expected *x, double n, double each_s, const struct spread *by, double apart)
{
	x->summed_s += n * each_s;
	x->likely_s += n * each_s * apart;
	x->least_s += n * each_s * apart * by->least;
	x->most_s += n * each_s * apart * by->most;
}

/* C functions of modules and of types cost differently: some interpreters make an object for each call of the latter. */
static double dearer(const struct builder *b, const struct node *x)
{
	const char *name = frames_function(b->frames, x->function)->name;
	double part = strncmp(name, METHOD, sizeof METHOD - 1) == 0 ? b->c_method : b->c_function;

	return x->code || !(part > 0) ? 1 : clamped(part, DEARER_LEAST, DEARER_MOST);
}

static void expect_all(const struct builder *b, const struct node *v, size_t n, struct expected *to)
{
	for (size_t i = 0; i < n; i++) {
		const struct event_cost *c = v[i].code ? &b->python : &b->c, *r = &b->resume;
		const struct spread *by = v[i].code ? &CALLS : &C_CALLS;
		double calls = (double)v[i].calls, resumes = (double)v[i].resumes;
		double own = (double)v[i].recursive_calls;
		double apart = dearer(b, &v[i]);
		double split_s = SPLIT *
			(calls * (c->inside + c->outside) + resumes * (r->inside + r->outside));

		expect(&to[i], calls, c->inside, by, apart);
		expect(&to[i], resumes, r->inside, &CALLS, 1);
		to[i].split_s += split_s;
		to[i].own_split_s = split_s;
		if (!v[i].parent)
			continue;
		expect(&to[v[i].parent - 1], calls - own, c->outside, by, apart);
		expect(&to[v[i].parent - 1], resumes, r->outside, &CALLS, 1);
		expect(&to[i], own, c->outside, by, apart);
		to[v[i].parent - 1].split_s += split_s;
	}
}

/* What a node's events cost, at least and at most. A calibration that says nothing of its error may be off by all. */
static void spread_cost(const struct builder *b, struct node *x, const struct expected *e)
{
	double error = b->cost_error >= 0 && b->cost_error < 1 ? b->cost_error : 1;
	double changed = b->pace > 0 && b->pace < 100 ? b->pace - 1 : 0;
	double more = ERROR_SPREAD * error + PACE_SPREAD * (changed < 0 ? -changed : changed);
	double least = e->likely_s > 0 ? e->least_s / e->likely_s : CALLS.least;
	double most = e->likely_s > 0 ? e->most_s / e->likely_s : CALLS.most;

	x->cost_least.self_s = x->cost.self_s * clamped(least - more, 0, 1);
	x->cost_most.self_s = x->cost.self_s * (most + more);
	if (error > NODES_ERROR_MOST) /* what nobody knows is not taken off */
		x->cost.self_s = x->cost_least.self_s = 0;
}

static struct node_times *cost_likely(struct node *x)
{
	return &x->cost;
}

static struct node_times *cost_least(struct node *x)
{
	return &x->cost_least;
}

static struct node_times *cost_most(struct node *x)
{
	return &x->cost_most;
}

/* slower: how many times as long as untraced the code of Python functions took, events apart. */
static void charge(struct node *v, size_t n, struct node_times *(*of)(struct node *), double slower)
{
	for (size_t i = n; i-- > 0;) { /* children before parents */
		struct node_times *c = of(&v[i]),
				  *parent = v[i].parent ? of(&v[v[i].parent - 1]) : NULL;
		double more = c->self_s - v[i].raw.self_s;

		/* An event's cost is known better than on which side of its stamp it is. */
		if (more > 0) {
			c->self_s = v[i].raw.self_s; /* not "-= more": that may round to above it */
			if (parent)
				parent->self_s += more;
		}
		if (v[i].code)
			c->self_s += (v[i].raw.self_s - c->self_s) * (1 - 1 / slower);
		c->self_s = clamped(c->self_s, 0, v[i].raw.self_s);
		c->total_s += c->self_s;
		if (parent)
			parent->total_s += c->total_s;
		if (c->total_s > v[i].raw.total_s)
			c->total_s = v[i].raw.total_s;
	}
}

static void widen(double split_s, double likely_s, double raw_s, double *least_s, double *most_s)
{
	*least_s = clamped(*least_s - split_s, 0, likely_s);
	*most_s = clamped(*most_s + split_s, likely_s, raw_s);
}

static void charge_costs(const struct builder *b, struct nodes *r, struct node *v)
{
	struct expected *e = xcalloc(r->n + 1, sizeof *e);
	double slower = 1 + (r->code_slower - 1) * CODE_SLOWER_SPREAD;

	expect_all(b, v, r->n, e);
	for (size_t i = 0; i < r->n; i++) {
		r->event_s += e[i].likely_s;
		if (!b->has_costs)
			v[i].cost.self_s = e[i].likely_s;
		else if (e[i].summed_s > 0)
			v[i].cost.self_s *= e[i].likely_s / e[i].summed_s;
		spread_cost(b, &v[i], &e[i]);
	}
	charge(v, r->n, cost_likely, 1);
	charge(v, r->n, cost_least, CODE_FASTER);
	charge(v, r->n, cost_most, slower > CODE_SLOWER_LEAST ? slower : CODE_SLOWER_LEAST);
	for (size_t i = 0; i < r->n; i++) {
		struct node *x = &v[i];

		r->cost_s += x->cost.self_s;
		r->least_s += x->is_thread ? 0 : x->cost_least.self_s;
		r->most_s += x->is_thread ? 0 : x->cost_most.self_s;
		widen(e[i].split_s, x->cost.self_s, x->raw.self_s, &x->cost_least.self_s,
			&x->cost_most.self_s);
		widen(e[i].own_split_s, x->cost.total_s, x->raw.total_s, &x->cost_least.total_s,
			&x->cost_most.total_s);
	}
	free(e);
}

/* ---- only mine ------------------------------------------------------------------------------- */

/* What library code took becomes its caller's, or [library]'s where that is the thread itself. Parents stay
 * before their children. Returns how many are left. */
static size_t fold_library(struct builder *b, struct node *v, size_t n)
{
	/* index + 1 → index + 1 of what stands for it */
	uint32_t *now = xcalloc(n + 1, sizeof *now);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct node x = v[i];
		uint32_t parent = now[x.parent];
		const struct stack_function *f = frames_function(b->frames, x.function);
		bool is_root = !parent || v[parent - 1].is_thread;

		if (f->is_library && !x.is_thread && !is_root) {
			v[parent - 1].raw.self_s += x.raw.self_s;
			v[parent - 1].cost.self_s += x.cost.self_s;
			v[parent - 1].cost_least.self_s += x.cost_least.self_s;
			v[parent - 1].cost_most.self_s += x.cost_most.self_s;
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

static bool has_records(struct tables *t, enum record_kind kind)
{
	struct record_iter it = record_iter(t, kind);
	bool has = record_next(&it) != NULL;

	record_iter_done(&it);
	return has;
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
	r->is_window = cut_to_window(&b, o ? o : &all);
	v = arena_new_n(a, struct node, b.found.n + 1);
	r->n = put_in_order(&b, v);
	r->v = v;
	r->is_of_all = !r->is_window && (!o || !o->threads);
	r->is_calibrated = b.is_calibrated;
	r->has_budget = has_records(t, RECORD_budget);
	r->cost_error = b.cost_error;
	r->code_slower = b.code_slower >= 1 && b.code_slower < CODE_SLOWER_MOST ? b.code_slower : 1;
	charge_costs(&b, r, v);
	for (size_t i = 0; i < r->n; i++)
		saturated_add(&r->n_events, saturated_sum(v[i].calls, v[i].resumes));
	if (o && o->only_mine)
		r->n = fold_library(&b, v, r->n);
	map_done(&b.index);
	vec_done(&b.found);
	vec_done(&b.ids);
	vec_done(&b.parent_ids);
	vec_done(&b.places);
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
