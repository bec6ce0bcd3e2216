/* SPDX-License-Identifier: MIT
 * See op_ranks.h. */
#include "analyze/op_ranks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/op_collectives.h"
#include "analyze/op_events.h"
#include "analyze/op_steps.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/banned.h"

/* A rank stands out when the others waited for it longer than this share of their steps. */
static const double STANDS_OUT = 0.05;

/* ---- what the moments of a rank went to ------------------------------------------------------ */

enum doing { COMPUTES, COMMUNICATES, IN_STEP, N_DOING };

struct edge {
	int64_t t_ns;
	int8_t change; /* +1: it begins */
	uint8_t doing;
};

struct edges {
	VEC(struct edge) v;
};

static void add_edges(struct edges *to, enum doing doing, int64_t start_ns, int64_t end_ns)
{
	if (end_ns <= start_ns)
		return;
	vec_push(&to->v, (struct edge){ start_ns, 1, (uint8_t)doing });
	vec_push(&to->v, (struct edge){ end_ns, -1, (uint8_t)doing });
}

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static void split(struct edges *edges, struct op_rank *to)
{
	int64_t n[N_DOING] = { 0 }, last_ns = 0;
	double *const parts[2][2] = { { &to->other_s, &to->communication_s },
		{ &to->computation_s, &to->overlap_s } };

	if (edges->v.n)
		qsort(edges->v.v, edges->v.n, sizeof *edges->v.v, by_time);
	vec_each (&edges->v, edge) {
		if (n[IN_STEP] > 0)
			*parts[n[COMPUTES] > 0][n[COMMUNICATES] > 0] +=
				(double)(edge->t_ns - last_ns) / 1e9;
		n[edge->doing] += edge->change;
		last_ns = edge->t_ns;
	}
}

static bool has_kernels(const struct op_events *x)
{
	for (size_t i = 0; i < x->v.n; i++)
		if (x->v.v[i].category == OP_KERNEL)
			return true;
	return false;
}

static void sum_up(struct arena *a, struct op_events *x, bool on_device, struct op_rank *to)
{
	const struct op_steps *steps = op_steps_build(a, x);
	bool has_device = has_kernels(x);
	struct edges edges = { 0 };

	for (size_t i = 0; i < steps->n; i++)
		add_edges(&edges, IN_STEP, steps->v[i].start_ns, steps->v[i].end_ns);
	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];
		bool is_work = has_device ? e->category >= OP_KERNEL && e->category <= OP_SET
					  : e->category == OP_CPU;

		if (op_collectives_is_one(x, e, on_device))
			add_edges(&edges, COMMUNICATES, e->start_ns, e->start_ns + e->duration_ns);
		else if (is_work && !op_is_communication(op_events_name(x, e->name)))
			add_edges(&edges, COMPUTES, e->start_ns, e->start_ns + e->duration_ns);
	}
	split(&edges, to);
	to->n_steps = steps->is_marked || steps->n > 1 ? steps->n : 0;
	to->seconds = steps->seconds;
	vec_done(&edges.v);
}

/* ---- one rank more --------------------------------------------------------------------------- */

/* "rank3.json", "host_rank-3.pt.trace.json": 3. */
static int64_t rank_in_name(const char *path)
{
	const char *base = strrchr(path, '/');

	for (const char *at = base ? base : path; *at; at++)
		if (strncasecmp(at, "rank", 4) == 0) {
			at += 4;
			at += *at == '_' || *at == '-' || *at == '=';
			if (isdigit((unsigned char)*at))
				return strtol(at, NULL, 10);
		}
	return -1;
}

static uint32_t kind_of(struct op_ranks *r, const struct op_collective_call *c)
{
	size_t i = 0;

	while (i < r->collectives.n &&
		(strcmp(r->collectives.v[i].name, c->name) != 0 ||
			strcmp(r->collectives.v[i].group, c->group) != 0))
		i++;
	if (i == r->collectives.n)
		vec_push(&r->collectives,
			(struct op_collective){
				.name = c->name, .group = c->group, .is_numbered = true });
	return (uint32_t)i;
}

static void add_calls(struct op_ranks *r, const struct op_collective_calls *calls, uint32_t file)
{
	VEC(int64_t) n_seen = VEC_INIT;

	for (size_t i = 0; i < calls->n; i++) {
		const struct op_collective_call *c = &calls->v[i];
		uint32_t kind = kind_of(r, c);
		struct op_collective *to = &r->collectives.v[kind];

		while (n_seen.n <= kind)
			vec_push(&n_seen, 0);
		to->is_numbered &= c->number >= 0;
		to->calls++;
		to->bytes += (double)c->bytes;
		to->seconds += (double)c->duration_ns / 1e9;
		vec_push(&r->calls,
			(struct op_ranks_call){
				kind, file, c->number, n_seen.v[kind]++, c->duration_ns });
	}
	vec_done(&n_seen);
}

int op_ranks_add(struct op_ranks *r, const char *path, struct op_events *x, struct err *e)
{
	struct op_rank to = { .path = path,
		.rank = x->rank >= 0 ? x->rank : rank_in_name(path),
		.file = (uint32_t)r->v.n };
	struct op_collective_calls calls = op_collectives_find(r->a, x);

	if (to.rank < 0)
		to.rank = (int64_t)r->v.n;
	vec_each (&r->v, other)
		if (other->rank == to.rank)
			return err_set(e, ERR_USAGE,
				"%s and %s are both of rank %" PRId64
				": one trace of each rank, please",
				other->path, path, to.rank);
	if (r->world_size && x->world_size && r->world_size != x->world_size)
		return err_set(e, ERR_USAGE,
			"%s is of a job of %u ranks, the others of one of %u: they do not belong "
			"together",
			path, x->world_size, r->world_size);
	if (*op_events_missing(x))
		vec_push(&r->notes, arena_printf(r->a, "%s: %s", path, op_events_missing(x)));
	if (x->world_size)
		r->world_size = x->world_size;
	if (*x->backend)
		r->backend = arena_strdup(r->a, x->backend);
	sum_up(r->a, x, calls.on_device, &to);
	add_calls(r, &calls, to.file);
	vec_push(&r->v, to);
	return 0;
}

/* ---- side by side ---------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct op_ranks_call *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->file > y->file) - (x->file < y->file);
}

/* From one rank to another there is no waiting for all. */
static bool is_between_two(const struct op_collective *c)
{
	return strcasestr(c->name, "send") || strcasestr(c->name, "recv");
}

static struct op_rank *rank_of(struct op_ranks *r, uint32_t file)
{
	vec_each (&r->v, rank)
		if (rank->file == file)
			return rank;
	return NULL;
}

/* Says why the calls of a kind cannot be told which belongs to which; false where they can. */
static bool differs(struct op_ranks *r, const struct op_collective *c)
{
	const struct op_rank *first = NULL;

	vec_each (&r->v, rank) {
		uint64_t n = c->n_of_rank[rank->file];

		if (!n && *c->group) /* it may not be of that group */
			continue;
		if (!first)
			first = rank;
		if (n == c->n_of_rank[first->file])
			continue;
		vec_push(&r->notes,
			arena_printf(r->a,
				"rank %" PRId64 " has %" PRIu64 " %s and rank %" PRId64
				" has %" PRIu64 ": they are not compared",
				first->rank, c->n_of_rank[first->file], c->name, rank->rank, n));
		return true;
	}
	return false;
}

/* The same collective on all of its ranks. */
static void take_one(
	struct op_ranks *r, struct op_collective *to, const struct op_ranks_call *v, size_t n)
{
	const struct op_ranks_call *last = &v[0]; /* the others waited for it */
	double all_s = 0, transfer_s;

	for (size_t i = 0; i < n; i++) {
		last = v[i].duration_ns < last->duration_ns ? &v[i] : last;
		all_s += (double)v[i].duration_ns / 1e9;
	}
	transfer_s = (double)last->duration_ns / 1e9;
	to->n_matched++;
	to->transfer_s += transfer_s * (double)n;
	to->waiting_s += all_s - transfer_s * (double)n;
	for (size_t i = 0; i < n; i++) {
		struct op_rank *rank = rank_of(r, v[i].file);

		rank->n_collectives++;
		rank->transfer_s += transfer_s;
		rank->waiting_s += (double)v[i].duration_ns / 1e9 - transfer_s;
		rank->n_last += &v[i] == last;
		rank->caused_s += &v[i] == last ? all_s - transfer_s * (double)n : 0;
	}
}

/* The calls of one kind, by their number. */
static void compare_kind(
	struct op_ranks *r, struct op_collective *c, const struct op_ranks_call *v, size_t n)
{
	uint64_t n_apart = 0;

	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].number == v[i].number && v[k].file != v[k - 1].file;)
			k++;
		if (k - i == c->n_ranks)
			take_one(r, c, v + i, k - i);
		else
			n_apart += k - i;
	}
	if (n_apart)
		vec_push(&r->notes,
			arena_printf(r->a,
				"%" PRIu64 " calls of %s have no counterpart in the other traces",
				n_apart, c->name));
}

static void count_kinds(struct op_ranks *r)
{
	vec_each (&r->collectives, c) {
		c->n_of_rank = arena_new_n(r->a, uint64_t, r->v.n);
		memset(c->n_of_rank, 0, r->v.n * sizeof *c->n_of_rank);
	}
	vec_each (&r->calls, call) {
		struct op_collective *c = &r->collectives.v[call->kind];

		c->n_ranks += c->n_of_rank[call->file]++ == 0;
		if (!c->is_numbered)
			call->number = call->ordinal;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct op_rank *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_seconds(const void *a, const void *b)
{
	const struct op_collective *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void find_straggler(struct op_ranks *r)
{
	const struct op_rank *worst = NULL;
	double seconds = 0, all_s = 0;

	vec_each (&r->v, rank) {
		worst = !worst || rank->caused_s > worst->caused_s ? rank : worst;
		seconds += rank->seconds;
		all_s += rank->caused_s;
	}
	if (worst->caused_s > STANDS_OUT * (seconds - worst->seconds) &&
		worst->caused_s > all_s / 2)
		r->straggler = worst;
}

static void check_steps(struct op_ranks *r)
{
	const struct op_rank *first = &r->v.v[0];

	vec_each (&r->v, rank)
		if (rank->n_steps != first->n_steps) {
			vec_push(&r->notes,
				arena_printf(r->a,
					"rank %" PRId64 " has %zu steps and rank %" PRId64
					" has %zu",
					first->rank, first->n_steps, rank->rank, rank->n_steps));
			return;
		}
}

int op_ranks_compare(struct op_ranks *r, struct err *e)
{
	if (r->v.n < 2)
		return err_set(e, ERR_USAGE,
			"--distributed compares ranks: give the traces of two or more, or their "
			"folder");
	if (r->world_size > r->v.n)
		vec_push(&r->notes,
			arena_printf(r->a, "these are %zu of the job's %u ranks", r->v.n,
				r->world_size));
	qsort(r->v.v, r->v.n, sizeof *r->v.v, by_rank);
	check_steps(r);
	count_kinds(r);
	if (r->calls.n)
		qsort(r->calls.v, r->calls.n, sizeof *r->calls.v, by_number);
	for (size_t i = 0, k; i < r->calls.n; i = k) {
		struct op_collective *c = &r->collectives.v[r->calls.v[i].kind];

		for (k = i + 1; k < r->calls.n && r->calls.v[k].kind == r->calls.v[i].kind;)
			k++;
		if (!is_between_two(c) && (c->is_numbered || !differs(r, c)))
			compare_kind(r, c, &r->calls.v[i], k - i);
	}
	if (r->collectives.n)
		qsort(r->collectives.v, r->collectives.n, sizeof *r->collectives.v, by_seconds);
	find_straggler(r);
	return 0;
}

void op_ranks_done(struct op_ranks *r)
{
	vec_done(&r->v);
	vec_done(&r->collectives);
	vec_done(&r->notes);
	vec_done(&r->calls);
}
