/* SPDX-License-Identifier: MIT
 * See places.h. */
#include "analyze/torch/places.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/backward.h"
#include "analyze/torch/nest.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* What a node of autograd's calls goes back to the same operator. */
static void hand_down(const struct ops_tree *t, uint32_t *forward, bool *is_one)
{
	for (size_t i = 0; forward && i < t->n; i++) { /* callers come before their calls */
		uint32_t node = t->order[i], up = t->parent[node];

		if (node < t->n_events && !op_is_device(ops_node(t, node)) && up != OPS_NONE &&
			up < t->n_events && forward[up]) {
			forward[node] = forward[up];
			is_one[node] = is_one[up];
		}
	}
}

void ops_places_init(struct ops_places *p, struct ops_nest *nest)
{
	*p = (struct ops_places){ .nest = nest,
		.python = { .tree = &nest->tree, .around = nest->around },
		.place = xcalloc(nest->n + 1, sizeof *p->place) };
	p->forward = op_backward_find(&nest->tree, &p->is_one);
	hand_down(&nest->tree, p->forward, p->is_one);
}

void ops_places_done(struct ops_places *p)
{
	ops_python_done(&p->python);
	free(p->forward);
	free(p->is_one);
	free(p->place);
	intern_done(&p->keys);
	map_done(&p->sum_of);
	vec_done(&p->sums);
}

/* ---- who asked ------------------------------------------------------------------------------- */

/* The line a recording has with each operator. */
static uint32_t source_kept(const struct op_events *x, uint32_t node)
{
	return node < x->sources.n ? x->sources.v[node] : 0;
}

/* An operator that another one called was asked for by the same line, unless there is Python between them. */
static uint32_t source_of(struct ops_places *p, uint32_t node, uint32_t *ret_who)
{
	const struct ops_tree *t = &p->nest->tree;
	const uint32_t *around = p->nest->around;
	uint32_t kept = source_kept(t->x, node), up = t->parent[node];
	struct ops_source told;

	for (; !kept && around && up != OPS_NONE && around[up] == around[node]; up = t->parent[up])
		kept = source_kept(t->x, up);
	*ret_who = kept;
	if (kept)
		return kept;
	told = ops_python_source(&p->python, node);
	*ret_who = told.name + 1; /* OPS_NONE + 1 is 0 */
	return told.is_function ? ops_python_without_line(&p->python, told.name) + 1 : *ret_who;
}

static uint32_t module_of(struct ops_places *p, uint32_t node)
{
	const struct op_events *x = p->nest->tree.x;

	return node < x->modules.n && x->modules.v[node] ? x->modules.v[node]
							 : ops_python_module(&p->python, node) + 1;
}

/* Nobody asks for a step of the profiler's. */
static struct ops_asked asked_directly(struct ops_places *p, uint32_t node, uint32_t *ret_who)
{
	const struct ops_tree *t = &p->nest->tree;

	*ret_who = 0;
	if (t->name_flags[ops_node(t, node)->name] & OPS_NAME_STEP)
		return (struct ops_asked){ 0 };
	return (struct ops_asked){ .source = source_of(p, node, ret_who),
		.module = module_of(p, node) };
}

struct ops_asked ops_places_asked(struct ops_places *p, uint32_t node, uint32_t *ret_who)
{
	uint32_t forward = p->forward && node < p->nest->tree.n_events ? p->forward[node] : 0, who;
	struct ops_asked direct = asked_directly(p, node, ret_who), of;

	if (!forward)
		return direct;
	of = asked_directly(p, forward - 1, &who);
	if (!p->is_one[node])
		of.module = 0;
	if (!of.source && !of.module)
		return direct;
	of.is_backward = 1;
	*ret_who = who;
	return of;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void ops_places_add(struct ops_places *p, uint32_t node, uint32_t row,
	const struct ops_asked *asked, bool is_outer)
{
	uint32_t key = intern_add(&p->keys, asked, sizeof *asked, NULL);
	uint64_t both = (uint64_t)row << 32 | key, at;
	struct ops_place_sum *sum;

	if (!map_find(&p->sum_of, both, &at)) {
		at = p->sums.n;
		map_put(&p->sum_of, both, at);
		vec_push(&p->sums, (struct ops_place_sum){ .row = row, .asked = key });
	}
	sum = &p->sums.v[at];
	sum->n_calls++;
	sum->self_ns += p->nest->self_ns[node];
	sum->cpu_ns += is_outer ? ops_node(&p->nest->tree, node)->duration_ns : 0;
	p->place[node] = (uint32_t)at + 1;
}

void ops_places_launched(struct ops_places *p, uint32_t node, int64_t ns)
{
	if (p->place[node])
		p->sums.v[p->place[node] - 1].device_ns += ns;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double own_time(const struct ops_place *x)
{
	return x->self_cpu_us + x->self_device_us;
}

static int by_time(const void *a, const void *b)
{
	const struct ops_place *x = a, *y = b;
	double t = own_time(x), u = own_time(y);

	return t != u ? (t < u) - (t > u) : (x->n_calls < y->n_calls) - (x->n_calls > y->n_calls);
}

static int by_row(const void *a, const void *b)
{
	const struct ops_place_sum *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->asked < y->asked ? -1 : x->asked > y->asked;
}

enum { SOURCE, MODULE };

static const char *text_of(const struct ops_place *x, int which)
{
	return which == SOURCE ? x->source : x->module;
}

/* What a row's places are weighed by: own time; calls where there is none. */
static double weight(const struct ops_place *x, bool by_calls)
{
	return by_calls ? (double)x->n_calls : own_time(x);
}

/* All that a line, or a module, has. Texts of places are equal where their pointers are. */
static double sum_of(const struct ops_row *r, int which, const char *text, bool by_calls)
{
	double sum = 0;

	for (size_t i = 0; i < r->n_places; i++)
		if (!text || text_of(&r->places[i], which) == text)
			sum += weight(&r->places[i], by_calls);
	return sum;
}

/* The line, or the module, that has at least half; "" where none does. */
static const char *find_half(const struct ops_row *r, int which, double *ret_share)
{
	bool by_calls = sum_of(r, which, NULL, false) <= 0;
	double all = sum_of(r, which, NULL, by_calls);
	const char *last = NULL;

	*ret_share = 0;
	for (size_t i = 0; i < r->n_places; i++) {
		const char *text = text_of(&r->places[i], which);
		double sum;

		if (!*text || text == last)
			continue;
		last = text;
		sum = sum_of(r, which, text, by_calls);
		if (sum * 2 < all)
			continue;
		*ret_share = all > 0 ? sum / all : 0;
		return text;
	}
	return "";
}

struct texts { /* of names, in the arena; each once */
	struct arena *a;
	const struct op_events *x;
	const char **v; /* by name + 1 */
	size_t n;
};

static const char *keep(struct texts *t, uint32_t name)
{
	if (!name || name > t->n)
		return "";
	if (!t->v[name])
		t->v[name] = arena_strdup(t->a, op_events_name(t->x, name - 1));
	return t->v[name];
}

/* Where it is in the model, or its name. */
static const char *keep_module(struct texts *t, uint32_t name)
{
	uint64_t path;

	if (!name || name > t->n)
		return "";
	if (!t->v[name])
		t->v[name] = arena_strdup(t->a,
			map_find(&t->x->module_paths, name - 1, &path)
				? op_events_name(t->x, (uint32_t)path)
				: op_events_name(t->x, name - 1) + strlen("nn.Module: "));
	return t->v[name];
}

static struct ops_place place_of(
	struct ops_places *p, struct texts *texts, const struct ops_place_sum *s)
{
	const struct ops_asked *asked = intern_get(&p->keys, s->asked)->p;

	return (struct ops_place){ .source = keep(texts, asked->source),
		.module = keep_module(texts, asked->module),
		.is_backward = asked->is_backward,
		.n_calls = s->n_calls,
		.self_cpu_us = (double)s->self_ns / 1e3,
		.cpu_us = (double)s->cpu_ns / 1e3,
		.self_device_us = (double)s->device_ns / 1e3 };
}

static bool is_known(const struct ops_place *x)
{
	return *x->source || *x->module;
}

void ops_places_tell(struct ops_places *p, struct arena *a, struct ops *ops)
{
	struct op_events *x = p->nest->tree.x;
	struct texts texts = { .a = a, .x = x, .n = x->names.items.n };
	struct ops_place *v = arena_new_n(a, struct ops_place, p->sums.n + 1);

	texts.v = xcalloc(texts.n + 1, sizeof *texts.v);
	if (p->sums.n)
		qsort(p->sums.v, p->sums.n, sizeof *p->sums.v, by_row);
	for (size_t i = 0; i < p->sums.n;) {
		struct ops_row *r = &ops->v[p->sums.v[i].row];
		struct ops_place *first = &v[i];
		double share;

		for (uint32_t row = p->sums.v[i].row; i < p->sums.n && p->sums.v[i].row == row; i++)
			v[i] = place_of(p, &texts, &p->sums.v[i]);
		r->places = first;
		r->n_places = (size_t)(&v[i] - first);
		qsort(first, r->n_places, sizeof *first, by_time);
		if (r->n_places == 1 && !is_known(first))
			r->n_places = 0; /* nothing is known of it */
		r->module = find_half(r, MODULE, &share);
		r->source = find_half(r, SOURCE, &r->source_share);
	}
	free(texts.v);
}
