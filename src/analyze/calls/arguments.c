/* SPDX-License-Identifier: MIT
 * See arguments.h. */
#include "analyze/calls/arguments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/code/frames.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct shape {
	const char *text;
	uint64_t calls, over;
};

/* One function while it is gathered. */
struct gathered {
	struct argument_row row;
	struct map samples; /* hash → calls */
	uint8_t level;
	struct map known; /* hash → index of shapes */
	VEC(struct shape) shapes;
};

struct builder {
	struct tables *t;
	struct frames *f;
	struct map index; /* function → index of all */
	VEC(struct gathered) all;
};

static struct gathered *find(struct builder *b, uint32_t code)
{
	uint32_t function = frames_of_code(b->f, code, 0).function;
	const struct stack_function *of = frames_function(b->f, function);
	uint64_t i;

	if (!map_find(&b->index, function, &i)) {
		i = b->all.n;
		map_put(&b->index, function, i);
		vec_push(&b->all,
			((struct gathered){ .row = { .function = function,
						    .name = of->name,
						    .file = of->file,
						    .first_line = of->first_line,
						    .shape = "" } }));
	}
	return &b->all.v[i];
}

static void map_add(struct map *m, uint64_t key, uint64_t n)
{
	uint64_t before = 0;

	map_find(m, key, &before);
	map_put(m, key, before + n);
}

static void add_arguments(struct builder *b, const struct rec_arguments *r)
{
	struct gathered *g = find(b, r->code);
	const unsigned char *p = r->samples.p;

	g->row.probed += r->calls;
	g->row.opaque += r->opaque;
	g->level = r->level > g->level ? r->level : g->level;
	for (size_t i = 0; i + 16 <= r->samples.n; i += 16) {
		uint64_t pair[2];

		memcpy(pair, p + i, sizeof pair);
		map_add(&g->samples, pair[0], pair[1]);
	}
}

static void add_shape(struct builder *b, const struct rec_argument_shape *r)
{
	struct gathered *g = find(b, r->code);
	uint64_t i;

	if (!map_find(&g->known, r->hash, &i)) {
		i = g->shapes.n;
		map_put(&g->known, r->hash, i);
		vec_push(&g->shapes, ((struct shape){ .text = tables_string(b->t, r->text) }));
	}
	g->shapes.v[i].calls += r->calls;
	g->shapes.v[i].over += r->over;
}

/* ---- what it comes down to ------------------------------------------------------------------- */

static bool is_sampled(uint64_t hash, uint8_t level)
{
	return level < 64 && !(hash & (((uint64_t)1 << level) - 1));
}

/* Seen so often that it is known whatever the sample says. */
static bool is_certain(const struct gathered *g, uint64_t hash, uint64_t *ret_calls)
{
	const struct shape *s;
	uint64_t i;

	if (!map_find(&g->known, hash, &i))
		return false;
	s = &g->shapes.v[i];
	*ret_calls = s->calls - (s->over < s->calls ? s->over : s->calls);
	return s->over < s->calls / 2;
}

struct sums {
	double certain, certain_calls;  /* arguments, and calls with them */
	double n, calls, calls_squared; /* of the other samples */
};

static struct sums sum_up(const struct gathered *g)
{
	struct sums s = { 0 };
	uint64_t hash, calls, seen;

	for (size_t i = 0; map_next(&g->known, &i, &hash, &calls);)
		if (is_certain(g, hash, &seen)) {
			s.certain++;
			s.certain_calls += (double)seen;
		}
	for (size_t i = 0; map_next(&g->samples, &i, &hash, &calls);)
		if (is_sampled(hash, g->level) && !is_certain(g, hash, &seen)) {
			s.n++;
			s.calls += (double)calls;
			s.calls_squared += (double)calls * (double)calls;
		}
	return s;
}

static void estimate(struct argument_row *r, const struct sums *s)
{
	double others = fmax((double)r->probed - s->certain_calls, 0);
	double mean = s->n > 0 ? s->calls / s->n : 1;
	double var = s->n > 1 ? fmax(s->calls_squared / s->n - mean * mean, 0) / (s->n - 1) : 0;
	double room = 2 * sqrt(var);
	/* When no sampled one came twice, up to 3 in n may have. */
	double none = mean <= 1 && s->n > 3 ? 1 - 3 / s->n : 1;

	r->distinct = s->certain + others / mean;
	r->distinct_low = s->certain + others / (mean + room) * none;
	r->distinct_high = s->certain + others / fmax(mean - room, 1);
}

/* Of a sampled one the calls are known exactly. */
static void choose_shape(struct gathered *g)
{
	struct argument_row *r = &g->row;
	uint64_t hash, index, calls;

	for (size_t i = 0; map_next(&g->known, &i, &hash, &index);) {
		struct shape *s = &g->shapes.v[index];

		if (is_sampled(hash, g->level) && map_find(&g->samples, hash, &calls))
			*s = (struct shape){ .text = s->text, .calls = calls };
		if (s->calls > r->shape_calls ||
			(s->calls == r->shape_calls && strcmp(s->text, r->shape) < 0)) {
			r->shape = s->text;
			r->shape_calls = s->calls;
			r->shape_over = s->over;
		}
	}
}

static void conclude(struct gathered *g, const struct exact *exact)
{
	struct argument_row *r = &g->row;
	double total_s = UNITS_UNKNOWN, probed = (double)r->probed;

	r->is_exact = g->level == 0;
	if (r->is_exact) {
		r->distinct = r->distinct_low = r->distinct_high = (double)g->samples.n;
	} else {
		struct sums s = sum_up(g);

		estimate(r, &s);
	}
	r->repeated = probed > 0 ? fmax(1 - r->distinct / probed, 0) : 0;
	r->repeated_low = probed > 0 ? fmax(1 - r->distinct_high / probed, 0) : 0;
	r->repeated_high = probed > 0 ? fmax(1 - r->distinct_low / probed, 0) : 0;
	choose_shape(g);
	for (size_t i = 0; i < exact->n_functions; i++)
		if (exact->functions[i].function == r->function) {
			r->calls = exact->functions[i].cost.calls;
			total_s = exact->functions[i].cost.total;
		}
	r->repeated_s = exact->is_timed ? total_s * r->repeated : UNITS_UNKNOWN;
}

static int by_saving(const void *a, const void *b)
{
	const struct argument_row *x = a, *y = b;
	double p = units_is_known(x->repeated_s) ? x->repeated_s : x->repeated * (double)x->calls;
	double q = units_is_known(y->repeated_s) ? y->repeated_s : y->repeated * (double)y->calls;

	if (!x->opaque != !y->opaque)
		return x->opaque ? 1 : -1;
	if (p != q)
		return p < q ? 1 : -1;
	return x->calls != y->calls ? (x->calls < y->calls ? 1 : -1) : strcmp(x->name, y->name);
}

static void gathered_done(struct gathered *g)
{
	map_done(&g->samples);
	map_done(&g->known);
	vec_done(&g->shapes);
}

const struct arguments *arguments_build(
	struct arena *a, struct tables *t, struct frames *f, const struct exact *exact)
{
	struct record_iter it = record_iter(t, RECORD_arguments);
	struct arguments *ret = arena_new(a, struct arguments);
	struct builder b = { .t = t, .f = f };
	struct argument_row *rows;

	for (const struct rec_arguments *r; (r = record_next(&it));)
		add_arguments(&b, r);
	record_iter_done(&it);
	it = record_iter(t, RECORD_argument_shape);
	for (const struct rec_argument_shape *r; (r = record_next(&it));)
		add_shape(&b, r);
	record_iter_done(&it);
	rows = arena_new_n(a, struct argument_row, b.all.n);
	for (size_t i = 0; exact && i < b.all.n; i++) {
		conclude(&b.all.v[i], exact);
		if (b.all.v[i].row.probed > 1) /* a single call repeats nothing */
			rows[ret->n++] = b.all.v[i].row;
	}
	if (ret->n)
		qsort(rows, ret->n, sizeof *rows, by_saving);
	ret->v = rows;
	vec_each (&b.all, g)
		gathered_done(g);
	vec_done(&b.all);
	map_done(&b.index);
	return ret;
}
