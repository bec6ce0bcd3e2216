/* SPDX-License-Identifier: MIT
 * See memory.h: which places of the code hold what is meant. */
#include <math.h>
#include <stdlib.h>

#include "analyze/memory/memory.h"
#include "analyze/memory/sweep.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* Growth is looked at from here on, of the recorded time: a program has warmed up by then. */
static const double WARM = 0.2;

struct chooser {
	const struct memory *m;
	const struct memory_options *o;
	uint64_t from_ns, to_ns;
	bool is_to_end;         /* no end was chosen: each process's own counts */
	bool *is_process;       /* by index */
	struct sampled_sum *at; /* by site */
};

static bool is_among(uint32_t row, const uint32_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i] == row)
			return true;
	return n == 0;
}

static uint64_t moment(const struct memory_blocks *b, double s)
{
	double ns = s * 1e9;

	return ns < 9e18 ? b->zero_ns + (uint64_t)ns : UINT64_MAX - 1;
}

static void choose_time(struct chooser *c)
{
	const struct memory *m = c->m;
	const struct memory_options *o = c->o;
	double from_s = o->from_s;

	if (o->view == MEMORY_GROWTH && !(from_s > 0))
		from_s = m->begin_s + (m->end_s - m->begin_s) * WARM;
	c->from_ns = from_s > 0 ? moment(m->blocks, from_s) : 0;
	c->is_to_end = !(o->to_s > 0);
	c->to_ns = c->is_to_end ? UINT64_MAX - 1 : moment(m->blocks, o->to_s);
	if (o->view != MEMORY_PEAK)
		return;
	c->from_ns = c->to_ns = memory_sweep(m->blocks, m->by_end,
		&(struct memory_sweep){
			.from_ns = c->from_ns, .to_ns = c->to_ns, .processes = c->is_process });
}

/* ---- sums by site ---------------------------------------------------------------------------- */

/* Whether it was there at the end of the time; a process that has ended has its own. */
static bool is_left(const struct chooser *c, const struct memory_block *x)
{
	return c->is_to_end ? memory_is_left(c->m->blocks, x)
			    : memory_is_alive(c->m->blocks, x, c->to_ns);
}

static bool counts(const struct chooser *c, const struct memory_block *x)
{
	switch (c->o->view) {
	case MEMORY_PEAK:
		return memory_is_alive(c->m->blocks, x, c->to_ns);
	case MEMORY_GROWTH:
		return x->begin_ns > c->from_ns && is_left(c, x);
	case MEMORY_LEAKS:
		return x->begin_ns >= c->from_ns && is_left(c, x);
	case MEMORY_CHURN:
		return x->begin_ns >= c->from_ns && x->begin_ns <= c->to_ns;
	case MEMORY_NONE:
	case MEMORY_VIEWS_:
		break;
	}
	return false;
}

static void sum_up(struct chooser *c)
{
	const struct memory_blocks *b = c->m->blocks;

	for (size_t i = 0; i < b->n; i++) {
		const struct memory_block *x = &b->v[i];

		if (c->is_process[b->sites[x->site].process] && counts(c, x))
			sampled_sum_add(&c->at[x->site], (double)x->size_bytes, x->weight);
	}
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* A stack of a process, whatever the thread: what one thread gives back another may have taken. */
struct place {
	struct sampled_sum came, gone;
};

struct places {
	struct intern keys;
	VEC(struct place) v;
	uint32_t *of_site;
};

static void find_places(struct places *p, const struct memory_blocks *b)
{
	p->of_site = xcalloc(b->n_sites + 1, sizeof *p->of_site);
	for (size_t i = 0; i < b->n_sites; i++) {
		uint32_t key[] = { b->sites[i].process, b->sites[i].stack };
		bool is_new;

		p->of_site[i] = intern_add(&p->keys, key, sizeof key, &is_new);
		if (is_new)
			vec_push(&p->v, (struct place){ 0 });
	}
}

static void add_gone(const struct chooser *c, struct places *p)
{
	const struct memory_blocks *b = c->m->blocks;

	for (size_t i = 0; i < b->n; i++) {
		const struct memory_block *x = &b->v[i];

		if (c->is_process[b->sites[x->site].process] && memory_is_alive(b, x, c->from_ns) &&
			!is_left(c, x))
			sampled_sum_add(&p->v.v[p->of_site[x->site]].gone, (double)x->size_bytes,
				x->weight);
	}
}

/* Of each site the part of what came that its place has more. How far the other part is off makes this one uncertain, too. */
static double keep_growth(struct chooser *c)
{
	const struct memory_blocks *b = c->m->blocks;
	struct places p = { 0 };
	double given_back = 0;

	find_places(&p, b);
	for (size_t i = 0; i < b->n_sites; i++)
		sampled_sum_merge(&p.v.v[p.of_site[i]].came, &c->at[i], 1);
	add_gone(c, &p);
	vec_each (&p.v, x)
		given_back += fmax(0, x->gone.value - x->came.value);
	for (size_t i = 0; i < b->n_sites; i++) {
		const struct place *x = &p.v.v[p.of_site[i]];
		struct sampled_sum came = c->at[i];
		double share = x->came.value > 0 ? came.value / x->came.value : 0,
		       part = x->came.value > 0 ? 1 - x->gone.value / x->came.value : 0;

		c->at[i] = (struct sampled_sum){ 0 };
		if (!came.n || part <= 0)
			continue;
		sampled_sum_merge(&c->at[i], &came, part);
		if (!x->gone.n)
			continue;
		c->at[i].variance = came.variance + x->gone.variance * share;
		c->at[i].surprise += x->gone.surprise;
		c->at[i].seen = 0; /* nothing of a difference is certain */
	}
	vec_done(&p.v);
	intern_done(&p.keys);
	free(p.of_site);
	return given_back;
}

/* ---- the result ------------------------------------------------------------------------------ */

static void put_weights(struct chooser *c, struct arena *a, struct memory_part *to)
{
	const struct memory_blocks *b = c->m->blocks;
	struct stack_weight *v = arena_new_n(a, struct stack_weight, b->n_sites + 1);

	for (size_t i = 0; i < b->n_sites; i++) {
		if (!is_among(b->sites[i].thread, c->o->threads, c->o->n_threads))
			continue;
		v[to->n++] =
			(struct stack_weight){ b->sites[i].thread, b->sites[i].stack, c->at[i] };
		sampled_sum_merge(&to->sum, &c->at[i], 1);
	}
	to->v = v;
	to->interval = sampled_sum_interval(&to->sum);
}

/* Of the time looked at, as far as there are records. */
static uint64_t end_of(const struct chooser *c)
{
	const struct memory_blocks *b = c->m->blocks;
	uint64_t end_ns = c->to_ns;
	bool is_of_code = c->is_to_end && c->o->view != MEMORY_PEAK && c->o->view != MEMORY_CHURN;

	for (size_t i = 0; is_of_code && i < b->n_processes; i++)
		if (c->is_process[i] && (end_ns == c->to_ns || b->processes[i].done_ns > end_ns))
			end_ns = b->processes[i].done_ns;
	return end_ns < b->last_ns ? end_ns : b->last_ns;
}

const struct memory_part *memory_choose(
	struct arena *a, const struct memory *m, const struct memory_options *o)
{
	const struct memory_blocks *b = m->blocks;
	struct memory_part *p = arena_new(a, struct memory_part);
	struct chooser c = { .m = m,
		.o = o,
		.is_process = xcalloc(b->n_processes + 1, sizeof *c.is_process),
		.at = xcalloc(b->n_sites + 1, sizeof *c.at) };
	uint64_t end_ns;

	for (size_t i = 0; i < b->n_processes; i++)
		c.is_process[i] = is_among(b->processes[i].row, o->processes, o->n_processes);
	choose_time(&c);
	sum_up(&c);
	p->view = o->view;
	if (o->view == MEMORY_GROWTH)
		p->given_back = keep_growth(&c);
	if (o->n_threads)
		p->given_back = UNITS_UNKNOWN; /* of all threads */
	put_weights(&c, a, p);
	end_ns = end_of(&c);
	p->from_s = c.from_ns > b->zero_ns ? (double)(c.from_ns - b->zero_ns) / 1e9 : 0;
	p->to_s = end_ns > b->zero_ns ? (double)(end_ns - b->zero_ns) / 1e9 : 0;
	free(c.is_process);
	free(c.at);
	return p;
}
