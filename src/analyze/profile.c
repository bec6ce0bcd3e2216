/* SPDX-License-Identifier: MIT
 * See profile.h. */
#include "analyze/profile.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "base/banned.h"

struct builder {
	struct intern function_keys, line_keys;
	VEC(struct profile_function) functions;
	VEC(struct profile_line) lines;
	VEC(size_t) function_seen, line_seen; /* number of the last place that counted it, + 1 */
};

static uint32_t function_index(struct builder *b, const struct stack_frame *f)
{
	struct {
		const char *name, *file; /* one pointer per distinct text */
		uint64_t first_line;
	} key = { f->name, f->file, f->first_line };
	bool added;
	uint32_t index = intern_add(&b->function_keys, &key, sizeof key, &added);

	if (added) {
		vec_push(&b->functions,
			(struct profile_function){ .name = f->name,
				.file = f->file,
				.first_line = f->first_line,
				.is_synthetic = f->is_synthetic });
		vec_push(&b->function_seen, 0);
	}
	return index;
}

static uint32_t line_index(struct builder *b, const struct stack_frame *f)
{
	struct {
		const char *file;
		int64_t line;
	} key = { f->file, f->line };
	bool added;
	uint32_t index = intern_add(&b->line_keys, &key, sizeof key, &added);

	if (added) {
		vec_push(&b->lines,
			(struct profile_line){
				.file = f->file, .function = f->name, .line = f->line });
		vec_push(&b->line_seen, 0);
	}
	return index;
}

static void charge(struct profile_cost *c, const struct stack_place *p, bool is_leaf, size_t *seen,
	size_t place)
{
	if (is_leaf) {
		c->self_n += p->n_samples;
		c->self_s += p->seconds;
	}
	if (*seen == place + 1)
		return;
	*seen = place + 1;
	c->total_n += p->n_samples;
	c->total_s += p->seconds;
}

static void charge_place(
	struct builder *b, const struct stacks *s, size_t place, struct stack_frame *frames)
{
	size_t n = stacks_frames(s, place, frames);

	for (size_t i = 0; i < n; i++) {
		uint32_t index = function_index(b, &frames[i]);

		charge(&b->functions.v[index].cost, &s->v[place], i == 0,
			&b->function_seen.v[index], place);
		if (frames[i].is_synthetic)
			continue;
		index = line_index(b, &frames[i]);
		charge(&b->lines.v[index].cost, &s->v[place], i == 0, &b->line_seen.v[index],
			place);
	}
}

static int by_self(const struct profile_cost *x, const struct profile_cost *y)
{
	if (x->self_s != y->self_s)
		return x->self_s < y->self_s ? 1 : -1;
	return x->total_s < y->total_s ? 1 : x->total_s > y->total_s ? -1 : 0;
}

static int function_order(const void *a, const void *b)
{
	const struct profile_function *x = a, *y = b;
	int order = by_self(&x->cost, &y->cost);

	return order ? order : strcmp(x->name, y->name);
}

static int line_order(const void *a, const void *b)
{
	const struct profile_line *x = a, *y = b;
	int order = by_self(&x->cost, &y->cost);

	return order ? order : x->line - y->line;
}

static void add_intervals(struct profile_cost *c, uint64_t n)
{
	c->self = interval_share(c->self_n, n);
	c->total = interval_share(c->total_n, n);
}

const struct profile *profile_build(struct arena *a, const struct stacks *s)
{
	struct profile *p = arena_new(a, struct profile);
	struct stack_frame *frames = xcalloc(STACKS_DEPTH, sizeof *frames);
	struct builder b = { 0 };

	p->n_samples = s->n_samples + s->n_lost;
	p->seconds = s->seconds;
	p->lost_share = p->n_samples ? (double)s->n_lost / (double)p->n_samples : 0;
	for (size_t i = 0; i < s->n; i++)
		charge_place(&b, s, i, frames);
	vec_each (&b.functions, f)
		add_intervals(&f->cost, p->n_samples);
	vec_each (&b.lines, l)
		add_intervals(&l->cost, p->n_samples);
	if (b.functions.n)
		qsort(b.functions.v, b.functions.n, sizeof *b.functions.v, function_order);
	if (b.lines.n)
		qsort(b.lines.v, b.lines.n, sizeof *b.lines.v, line_order);
	p->functions = arena_copy(a, b.functions.v, b.functions.n * sizeof *b.functions.v);
	p->n_functions = b.functions.n;
	p->lines = arena_copy(a, b.lines.v, b.lines.n * sizeof *b.lines.v);
	p->n_lines = b.lines.n;
	free(frames);
	intern_done(&b.function_keys);
	intern_done(&b.line_keys);
	vec_done(&b.functions);
	vec_done(&b.lines);
	vec_done(&b.function_seen);
	vec_done(&b.line_seen);
	return p;
}
