/* SPDX-License-Identifier: MIT
 * See ranks.h. */
#include "analyze/torch/ranks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/collectives.h"
#include "analyze/torch/computing.h"
#include "analyze/torch/course.h"
#include "analyze/torch/events.h"
#include "analyze/torch/processes.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/subset.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* A rank stands out when the others waited for it longer than this share of their steps. */
static const double STANDS_OUT = 0.05;

enum { RANKS_MOST = 1024 }; /* in one recording, which is of one machine */

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

static void add_computing(struct edges *to, struct op_events *x)
{
	struct ops_tree tree;
	struct op_moments found;

	ops_tree_init(&tree, x, false);
	found = op_computing_find(&tree, NULL, 0);
	vec_each (&found.v, m)
		vec_push(&to->v, (struct edge){ m->t_ns, (int8_t)m->change, COMPUTES });
	vec_done(&found.v);
	ops_tree_done(&tree);
}

/* Returns when the first step begins: what came before it is no part of the training. */
static int64_t sum_up(struct arena *a, struct op_events *x, bool on_device, struct op_rank *to)
{
	const struct op_steps *steps = op_steps_build(a, x);
	bool has_device = has_kernels(x);
	struct edges edges = { 0 };

	for (size_t i = 0; i < steps->n; i++)
		add_edges(&edges, IN_STEP, steps->v[i].start_ns, steps->v[i].end_ns);
	if (!has_device)
		add_computing(&edges, x);
	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];
		bool is_work = has_device && e->category >= OP_KERNEL && e->category <= OP_SET;

		if (op_collectives_is_one(x, e, on_device))
			add_edges(&edges, COMMUNICATES, e->start_ns, e->start_ns + e->duration_ns);
		else if (is_work && !op_is_communication(op_events_name(x, e->name)))
			add_edges(&edges, COMPUTES, e->start_ns, e->start_ns + e->duration_ns);
	}
	split(&edges, to);
	to->n_steps = steps->is_marked || steps->n > 1 ? steps->n : 0;
	to->seconds = steps->seconds;
	vec_done(&edges.v);
	return to->n_steps ? steps->v[0].start_ns : INT64_MIN;
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

static void add_calls(struct op_ranks *r, const struct op_collective_calls *calls, uint32_t file,
	int64_t since_ns)
{
	VEC(int64_t) n_seen = VEC_INIT;

	for (size_t i = 0; i < calls->n; i++) {
		const struct op_collective_call *c = &calls->v[i];
		struct op_collective *to;
		uint32_t kind;

		if (c->start_ns < since_ns)
			continue;
		kind = kind_of(r, c);
		to = &r->collectives.v[kind];

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

static int add_one(struct op_ranks *r, const char *path, struct op_events *x, struct err *e)
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
				"%s and %s are both from rank %" PRId64 ": give one trace per rank",
				other->path, path, to.rank);
	if (r->world_size && x->world_size && r->world_size != x->world_size)
		return err_set(e, ERR_USAGE,
			"%s is from a job of %u ranks, the others from one of %u: they do not belong together",
			path, x->world_size, r->world_size);
	if (*op_events_missing(x))
		vec_push(&r->notes, arena_printf(r->a, "%s: %s", path, op_events_missing(x)));
	if (x->world_size)
		r->world_size = x->world_size;
	if (*x->backend)
		r->backend = arena_strdup(r->a, x->backend);
	add_calls(r, &calls, to.file, sum_up(r->a, x, calls.on_device, &to));
	vec_push(&r->v, to);
	return 0;
}

/* ---- several in one recording ---------------------------------------------------------------- */

/* Which of its processes train or communicate: ranks, where it is more than one. */
static size_t find_ranks(const struct op_events *x, const struct op_processes *p, bool *ret_is)
{
	size_t *n_calls = xcalloc(p->names.items.n + 1, sizeof *n_calls), n = 0;

	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];
		const char *name = op_events_name(x, e->name);

		if (e->category <= OP_ANNOTATION)
			n_calls[p->of_track[e->track]] +=
				op_is_communication(name) || op_sign_of(name) & OP_SIGN_OPTIMIZER;
	}
	for (size_t i = 0; i < p->names.items.n; i++)
		n += ret_is[i] = n_calls[i] > 1;
	free(n_calls);
	return n;
}

static int rank_of_process(const struct op_events *x, uint32_t pid)
{
	for (size_t i = 0; i < x->processes.n; i++)
		if (x->processes.v[i].pid == pid)
			return x->processes.v[i].rank;
	return -1;
}

/* The file's own rank and name are of all of them: each has what its process was told, else its place. */
static int add_process(struct op_ranks *r, const char *path, const struct op_events *x,
	const char *process, int rank, struct err *e)
{
	struct op_events one;
	int status;

	op_subset_take(x, &(struct op_subset){ .process = process }, &one);
	one.rank = rank >= 0 ? rank : (int)r->v.n;
	status = add_one(r, path, &one, e);
	op_events_done(&one);
	return status;
}

int op_ranks_add(struct op_ranks *r, const char *path, struct op_events *x, struct err *e)
{
	struct op_processes p;
	size_t n;
	bool *is;
	int status = 0;

	op_processes_init(&p, x);
	is = xcalloc(p.names.items.n + 1, sizeof *is);
	n = find_ranks(x, &p, is);
	if (n > RANKS_MOST)
		status = err_set(e, ERR_BAD_FILE, "%s: more than %d ranks in one recording", path,
			RANKS_MOST);
	else if (n < 2)
		status = add_one(r, path, x, e);
	else
		for (uint32_t i = 0; i < p.names.items.n && status == 0; i++)
			if (is[i])
				status = add_process(r, path, x, intern_get(&p.names, i)->p,
					rank_of_process(x, op_processes_pid(&p, i)), e);
	free(is);
	op_processes_done(&p);
	return status;
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
			"--distributed compares ranks: give the traces of two or more, their folder, or a recording that holds them (run --torch)");
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
