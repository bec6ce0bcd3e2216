/* SPDX-License-Identifier: MIT
 * See exact_estimates.h. */
#include "analyze/calls/exact_estimates.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/calls/estimate.h"
#include "analyze/calls/estimate_paths.h"
#include "analyze/calls/exact.h"
#include "analyze/code/frames.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* A function in a process that has switched it off. Sums are of the contexts that are looked at. */
struct off {
	uint32_t row; /* of the function */
	double calls, resumes, self_s, cost_s;
	double all; /* calls and resumptions of all threads, whether they are looked at or not */
	struct estimate e; /* beyond that */
	double got_s;      /* of e.self_s */
	bool is_blind;     /* its calls are an estimate, too, not only its times */
};

struct builder {
	struct exact_estimates *x;
	struct tables *t;
	struct frames *frames;
	struct map rows;  /* number of a function → row */
	struct map pairs; /* process and row → index in offs */
	VEC(struct off) offs;
	uint32_t *off_of; /* by node: index in offs + 1; 0: it was watched all the time */
	struct estimate_paths paths;
};

/* ---- what was off ---------------------------------------------------------------------------- */

static uint64_t pair_key(uint32_t process, uint32_t row)
{
	return (uint64_t)process << 32 | row;
}

/* NULL: it has no row. */
static struct off *off_of_record(struct builder *b, const struct rec_budget *r, bool is_new)
{
	uint32_t number = r->code ? frames_of_code(b->frames, r->code, 0).function
				  : frames_of_builtin(b->frames, r->builtin).function;
	uint64_t row, index;

	if (!map_find(&b->rows, number, &row))
		return NULL;
	if (!map_find(&b->pairs, pair_key(r->process, (uint32_t)row), &index)) {
		if (!is_new)
			return NULL;
		index = b->offs.n;
		map_put(&b->pairs, pair_key(r->process, (uint32_t)row), index);
		vec_push(&b->offs, (struct off){ .row = (uint32_t)row });
	}
	return &b->offs.v[index];
}

static void find_off(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_budget);

	for (size_t i = b->x->n_functions; i-- > 0;)
		map_put(&b->rows, b->x->functions[i].function, i);
	for (const struct rec_budget *r; (r = record_next(&it));)
		off_of_record(b, r, true);
	record_iter_done(&it);
}

static struct off *off_of_node(struct builder *b, const struct node *n, uint32_t row)
{
	const struct rec_thread *thread = tables_row(b->t, RECORD_thread, n->thread);
	uint64_t index;

	if (n->is_thread || !thread || !map_find(&b->pairs, pair_key(thread->process, row), &index))
		return NULL;
	return &b->offs.v[index];
}

static void add_node(struct off *o, const struct node *n)
{
	o->calls += (double)n->calls;
	o->resumes += (double)n->resumes;
	o->self_s += n->raw.self_s - n->cost.self_s;
	o->cost_s += n->cost.self_s;
}

/* Windows are the process's: of an estimate a thread has the part that its calls are of all. */
static void add_all_threads(struct builder *b)
{
	struct arena a = ARENA_INIT;
	const struct nodes *all = nodes_build(&a, b->t, b->frames, NULL);

	for (size_t i = 0; i < all->n; i++) {
		const struct node *n = &all->v[i];
		struct off *o;
		uint64_t row;

		if (!n->is_thread && map_find(&b->rows, n->function, &row) &&
			(o = off_of_node(b, n, (uint32_t)row)))
			o->all += (double)n->calls + (double)n->resumes;
	}
	arena_done(&a);
}

static void see_nodes(struct builder *b)
{
	const struct nodes *nodes = b->x->nodes;

	b->off_of = xcalloc(nodes->n + 1, sizeof *b->off_of);
	for (size_t i = 0; i < nodes->n; i++) {
		struct off *o = off_of_node(b, &nodes->v[i], b->x->rows[i + 1]);

		if (!o)
			continue;
		add_node(o, &nodes->v[i]);
		b->off_of[i] = (uint32_t)(o - b->offs.v) + 1;
	}
	add_all_threads(b);
}

/* ---- estimates ------------------------------------------------------------------------------- */

/* A call as long as it was watched. */
static struct estimate_call call_of(const struct off *o)
{
	double n = o->calls + o->resumes;

	return (struct estimate_call){ .own_ns = n > 0 ? fmax(o->self_s, 0) / n * 1e9 : 0,
		.inside_ns = o->calls > 0 ? fmax(o->cost_s, 0) / o->calls * 1e9 : 0 };
}

static void add_estimate(struct estimate *to, const struct estimate *e, double part)
{
	to->calls += e->calls * part;
	to->resumes += e->resumes * part;
	to->self_s += e->self_s * part;
	to->calls_low += e->calls_low * part;
	to->calls_high += e->calls_high * part; /* unknown where one is */
	to->self_low_s += e->self_low_s * part;
	to->self_high_s += e->self_high_s * part;
}

static void estimate_all(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_budget);

	for (const struct rec_budget *r; (r = record_next(&it));) {
		struct off *o = off_of_record(b, r, false);
		double seen = o ? o->calls + o->resumes : 0;
		struct estimate_call call;
		struct estimate e;

		if (!(seen > 0))
			continue;
		call = call_of(o);
		e = estimate_of(r, &call);
		/* Which thread called it was not counted. */
		o->is_blind |= !e.is_counted || o->all > seen;
		add_estimate(&o->e, &e, o->all > seen ? seen / o->all : 1);
	}
	record_iter_done(&it);
}

/* Calls outside of windows for each that was seen. */
static double growth(const struct off *o)
{
	double seen = o->calls + o->resumes;

	return seen > 0 ? (o->e.calls + o->e.resumes) / seen : 0;
}

/* Own time to be added to a node that is off. */
static double wanted_s(const struct builder *b, size_t i)
{
	const struct off *o = &b->offs.v[b->off_of[i] - 1];
	const struct node *n = &b->x->nodes->v[i];
	double seen = o->calls + o->resumes;

	return seen > 0 ? o->e.self_s * ((double)n->calls + (double)n->resumes) / seen : 0;
}

static void find_paths(struct builder *b)
{
	const struct nodes *nodes = b->x->nodes;
	unsigned char *is_off = xcalloc(nodes->n + 1, 1);
	double *grows = xcalloc(nodes->n + 1, sizeof *grows),
	       *self_s = xcalloc(nodes->n + 1, sizeof *self_s);

	for (size_t i = 0; i < nodes->n; i++) {
		if (!b->off_of[i])
			continue;
		is_off[i] = 1;
		grows[i] = growth(&b->offs.v[b->off_of[i] - 1]);
		self_s[i] = wanted_s(b, i);
	}
	estimate_paths_build(&b->paths,
		&(struct estimate_paths_input){
			.nodes = nodes,
			.rows = b->x->rows,
			.is_off = is_off,
			.growth = grows,
			.self_s = self_s,
		});
	free(is_off);
	free(grows);
	free(self_s);
}

/* ---- waiting for a CPU ----------------------------------------------------------------------- */

/* Windows leave out what other programs had the CPU for, the times that estimates are taken from have it. Of a process. */
struct wait {
	/* own times in windows, for each ns of them, of what is off and what is on */
	double off, others;
	double window_ns; /* that `others` is from */
	double slower;    /* than its CPU time; 1: nobody else had the CPU */
	double there_s;   /* own time of all that estimates are taken from */
	double wanted_s;  /* estimates */
};

static void read_waits(struct builder *b, struct map *processes, struct wait *waits)
{
	struct record_iter it = record_iter(b->t, RECORD_budget);

	for (const struct rec_budget *r; (r = record_next(&it));) {
		struct wait *w;
		uint64_t index;

		if (!r->window_ns || !off_of_record(b, r, false))
			continue;
		if (!map_find(processes, r->process, &index)) {
			index = processes->n;
			map_put(processes, r->process, index);
			waits[index].slower = 1;
		}
		w = &waits[index];
		w->off += (double)r->self_ns / (double)r->window_ns;
		if ((double)r->window_ns > w->window_ns) {
			w->window_ns = (double)r->window_ns;
			w->others = (double)r->others_self_ns / w->window_ns;
			w->slower = r->off_ns ? (double)r->wall_ns / (double)r->off_ns : 1;
		}
	}
	record_iter_done(&it);
}

static struct wait *wait_of(
	const struct builder *b, const struct map *processes, struct wait *waits, size_t node)
{
	const struct rec_thread *thread =
		tables_row(b->t, RECORD_thread, b->x->nodes->v[node].thread);
	uint64_t index;

	return thread && map_find(processes, thread->process, &index) ? &waits[index] : NULL;
}

/* How much longer than estimated: as much as windows say is theirs of what is there, if the process was that much slower. */
static double wait_factor(const struct wait *w)
{
	double all = w->off + w->others;
	double share_s = all > 0 ? w->there_s * w->off / all : 0;

	return w->wanted_s > 0 ? fmax(fmin(w->slower, share_s / w->wanted_s), 1) : 1;
}

static void add_waits(struct builder *b)
{
	const struct nodes *nodes = b->x->nodes;
	struct map processes = MAP_INIT;
	struct wait *waits = xcalloc(b->offs.n + 1, sizeof *waits);
	unsigned char *is_asked = xcalloc(nodes->n + 1, 1), *is_done = xcalloc(b->offs.n + 1, 1);

	read_waits(b, &processes, waits);
	for (size_t i = 0; i < nodes->n; i++) {
		uint32_t from = b->off_of[i] ? b->paths.stripped[i] : 0;
		struct wait *w = from ? wait_of(b, &processes, waits, i) : NULL;

		if (!w || nodes->v[from - 1].is_thread)
			continue;
		w->wanted_s += wanted_s(b, i);
		if (!is_asked[from]++)
			w->there_s += fmax(
				nodes->v[from - 1].raw.self_s - nodes->v[from - 1].cost.self_s, 0);
	}
	for (size_t i = 0; i < nodes->n; i++) {
		struct wait *w = b->off_of[i] ? wait_of(b, &processes, waits, i) : NULL;
		struct off *o = b->off_of[i] ? &b->offs.v[b->off_of[i] - 1] : NULL;

		if (!w || is_done[b->off_of[i] - 1]++)
			continue;
		o->e.self_s *= wait_factor(w);
		o->e.self_high_s *= fmax(w->slower, 1);
	}
	map_done(&processes);
	free(waits);
	free(is_asked);
	free(is_done);
}

/* ---- into figures ---------------------------------------------------------------------------- */

/* Sums that are rounded in the end. */
struct more {
	double calls, primitive_calls, resumes, primitive_resumes, self, total;
};

static void add_node_more(const struct builder *b, size_t i, bool is_outermost, struct more *m)
{
	const struct node *n = &b->x->nodes->v[i];
	const struct off *o = b->off_of[i] ? &b->offs.v[b->off_of[i] - 1] : NULL;

	if (is_outermost)
		m->total += b->paths.total_s[i];
	if (!o)
		return;
	if (o->calls > 0) {
		double calls = o->e.calls * (double)n->calls / o->calls;

		m->calls += calls;
		m->primitive_calls += is_outermost ? calls : 0;
	}
	if (o->resumes > 0) {
		double resumes = o->e.resumes * (double)n->resumes / o->resumes;

		m->resumes += resumes;
		m->primitive_resumes += is_outermost ? resumes : 0;
	}
	m->self += b->paths.got_s[i];
}

static uint64_t rounded(uint64_t n, double more)
{
	return (uint64_t)llround(fmax((double)n + more, 0));
}

static void add_more(struct exact_cost *c, const struct more *m, double most_s)
{
	c->calls = rounded(c->calls, m->calls);
	c->primitive_calls = rounded(c->primitive_calls, m->primitive_calls);
	c->resumes = rounded(c->resumes, m->resumes);
	c->primitive_resumes = rounded(c->primitive_resumes, m->primitive_resumes);
	c->self = fmax(c->self + m->self, 0);
	c->total = fmin(fmax(m->total, c->self), most_s);
}

/* What was this function's time, and was given to those it called. */
static void take(const struct builder *b, struct exact_function *from, size_t i)
{
	const struct off *o = &b->offs.v[b->off_of[i] - 1];
	double got_s = b->paths.got_s[i], part = o->e.self_s > 0 ? got_s / o->e.self_s : 0;
	struct exact_range *r = &from->range;

	if (!from->is_mixed &&
		!r->is_estimated) { /* its own interval, where its time is corrected */
		r->self_low_s = fmin(from->cost.self, from->cost.low.self_s);
		r->self_high_s = fmax(from->cost.self, from->cost.high.self_s);
	}
	from->is_mixed = true;
	from->cost.self = fmax(from->cost.self - got_s, 0);
	r->self_low_s = units_is_known(o->e.self_high_s)
		? fmax(r->self_low_s - o->e.self_high_s * part, 0)
		: 0;
	r->self_high_s = fmax(r->self_high_s - o->e.self_low_s * part, 0);
}

static void sum_functions(struct builder *b)
{
	const struct nodes *nodes = b->x->nodes;
	struct more *more = xcalloc(b->x->n_functions + 1, sizeof *more);
	double most_s = fmax(b->paths.threads_s, 0);

	for (size_t i = 0; i < nodes->n; i++)
		if (!nodes->v[i].is_thread)
			add_node_more(b, i, b->x->outer[i + 1] & EXACT_OUTERMOST,
				&more[b->x->rows[i + 1]]);
	for (size_t i = 0; i < b->x->n_functions; i++)
		if (b->x->functions[i].range.is_estimated)
			add_more(&b->x->functions[i].cost, &more[i], most_s);
	for (size_t i = 0; i < nodes->n; i++) {
		uint32_t from = b->off_of[i] ? b->paths.stripped[i] : 0;

		b->offs.v[b->off_of[i] ? b->off_of[i] - 1 : 0].got_s += b->paths.got_s[i];
		if (from && !nodes->v[from - 1].is_thread)
			take(b, &b->x->functions[b->x->rows[from]], i);
	}
	free(more);
}

/* Calls of what is on below what is off were seen as calls of somebody further up. */
static void move_calls(struct builder *b, size_t i, struct more *more)
{
	const struct node *from = &b->x->nodes->v[b->paths.stripped[i] - 1];
	uint32_t here = b->x->edge_of[i + 1], there = b->x->edge_of[b->paths.stripped[i]];
	double part = b->paths.moved[i], sign[] = { part, -part };
	struct more *to[] = { here == UINT32_MAX ? NULL : &more[here],
		there == UINT32_MAX ? NULL : &more[there] };

	for (int k = 0; k < 2; k++)
		if (to[k]) {
			to[k]->calls += round(sign[k] * (double)from->calls);
			to[k]->primitive_calls += round(sign[k] * (double)from->calls);
			to[k]->resumes += round(sign[k] * (double)from->resumes);
			to[k]->self += sign[k] * (from->raw.self_s - from->cost.self_s);
			to[k]->total += sign[k] * b->paths.total_s[b->paths.stripped[i] - 1];
		}
}

static void sum_edges(struct builder *b)
{
	const struct nodes *nodes = b->x->nodes;
	struct more *more = xcalloc(b->x->n_edges + 1, sizeof *more);
	double most_s = fmax(b->paths.threads_s, 0);

	for (size_t i = 0; i < nodes->n; i++) {
		uint32_t edge = b->x->edge_of[i + 1];

		if (edge != UINT32_MAX)
			add_node_more(b, i, b->x->outer[i + 1] & EXACT_OUTERMOST_EDGE, &more[edge]);
		if (b->paths.moved[i] > 0)
			move_calls(b, i, more);
	}
	for (size_t i = 0; i < b->x->n_edges; i++)
		add_more(&b->x->edges[i].cost, &more[i], most_s);
	free(more);
}

static void set_ranges(struct builder *b)
{
	vec_each (&b->offs, o) {
		struct exact_function *fn = &b->x->functions[o->row];
		double part = o->e.self_s > 0 ? o->got_s / o->e.self_s : 1;

		fn->range.are_calls_estimated |= o->is_blind;
		fn->range.calls_low += o->e.calls_low;
		fn->range.calls_high += o->e.calls_high;
		fn->range.self_low_s += o->e.self_low_s * part;
		fn->range.self_high_s += b->paths.there_s > 0 && o->e.self_high_s > b->paths.there_s
			? b->paths.there_s
			: o->e.self_high_s;
	}
	vec_each (&b->offs, o) {
		struct exact_range *r = &b->x->functions[o->row].range;

		if (r->self_high_s > b->paths.threads_s) /* sums of several processes */
			r->self_high_s = b->paths.threads_s;
	}
}

/* What was counted is the least. */
static size_t begin_ranges(struct builder *b)
{
	size_t n = 0;

	vec_each (&b->offs, o) {
		struct exact_function *fn = &b->x->functions[o->row];
		double calls = (double)fn->cost.calls, self_s = fn->cost.self;

		if (fn->range.is_estimated || !(o->calls + o->resumes > 0))
			continue;
		fn->range = (struct exact_range){ .is_estimated = true,
			.calls_low = calls,
			.calls_high = calls,
			.self_low_s = self_s,
			.self_high_s = self_s };
		n++;
	}
	return n;
}

size_t exact_estimates_apply(struct exact_estimates *x, struct tables *t, struct frames *f)
{
	struct builder b = { .x = x, .t = t, .frames = f };
	size_t n = 0;

	find_off(&b);
	if (b.offs.n && x->nodes->n) {
		see_nodes(&b);
		estimate_all(&b);
		find_paths(&b);
		add_waits(&b);
		estimate_paths_done(&b.paths);
		find_paths(&b);
		n = begin_ranges(&b);
		sum_functions(&b);
		set_ranges(&b);
		sum_edges(&b);
		estimate_paths_done(&b.paths);
		free(b.off_of);
	}
	map_done(&b.rows);
	map_done(&b.pairs);
	vec_done(&b.offs);
	return n;
}
