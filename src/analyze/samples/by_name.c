/* SPDX-License-Identifier: MIT
 * See by_name.h. */
#include "analyze/samples/by_name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "base/banned.h"

struct key { /* one pointer per distinct text (frames.h) */
	const char *name, *file;
	int64_t line;
};

struct builder {
	struct intern keys;
	VEC(struct by_name_row) rows;
	VEC(size_t) open; /* by row: how often it is on the path at hand */
	bool with_lines;
};

static size_t row_of(struct builder *b, const struct stack_frame *f)
{
	struct key key = { .name = f->name };
	bool added;
	uint32_t i;

	if (b->with_lines) {
		key.file = f->file;
		key.line = f->line > 0 ? f->line : 0;
	}
	i = intern_add(&b->keys, &key, sizeof key, &added);
	if (added) {
		vec_push(&b->rows,
			(struct by_name_row){ .name = f->name,
				.file = b->with_lines ? f->file : "",
				.line = (int)key.line });
		vec_push(&b->open, 0);
	}
	return i;
}

static int by_flat(const void *a, const void *b)
{
	const struct by_name_row *x = a, *y = b;
	int order;

	if (x->flat != y->flat)
		return x->flat < y->flat ? 1 : -1;
	order = strcmp(x->name, y->name);
	order = order ? order : strcmp(x->file, y->file);
	order = order ? order : x->line - y->line;
	return order ? order : x->cum < y->cum ? 1 : x->cum > y->cum ? -1 : 0;
}

/* What each path took, and with all below it: whole units, as the other tool counts them. */
struct values {
	uint64_t *flat, *cum;
};

static struct values values_of(const struct stacks *s, uint64_t *ret_total)
{
	const struct paths *p = s->paths;
	double scale = s->unit == UNIT_SECONDS ? 1e9 : 1;
	struct values v = { xcalloc(p->n, sizeof *v.flat), xcalloc(p->n, sizeof *v.cum) };

	for (size_t i = 0; i < s->n; i++) {
		uint64_t value = (uint64_t)llround(s->v[i].value * scale);

		*ret_total += value;
		v.flat[p->of_place[i]] += value;
	}
	for (size_t i = p->n; i-- > 1;) {
		v.cum[i] += v.flat[i];
		v.cum[p->v[i].parent] += v.cum[i];
	}
	return v;
}

struct by_name by_name_build(struct arena *a, const struct stacks *s, bool with_lines)
{
	struct builder b = { .with_lines = with_lines };
	struct by_name_row *rows;
	struct by_name result = { 0 };
	struct values values = values_of(s, &result.total);
	uint32_t *row_of_path = xcalloc(s->paths->n, sizeof *row_of_path);
	struct paths_walk w = paths_walk(s->paths);

	for (uint32_t at; paths_next(&w, &at);) {
		struct stack_frame f = paths_frame(s, at);

		if (!w.is_entering) {
			b.open.v[row_of_path[at]]--;
			continue;
		}
		row_of_path[at] = (uint32_t)row_of(&b, &f);
		b.rows.v[row_of_path[at]].flat += values.flat[at];
		if (!b.open.v[row_of_path[at]]++)
			b.rows.v[row_of_path[at]].cum += values.cum[at];
	}
	paths_walk_done(&w);
	free(row_of_path);
	free(values.flat);
	free(values.cum);
	rows = arena_copy(a, b.rows.v, b.rows.n * sizeof *rows);
	if (b.rows.n)
		qsort(rows, b.rows.n, sizeof *rows, by_flat);
	result.rows = rows;
	result.n = b.rows.n;
	intern_done(&b.keys);
	vec_done(&b.open);
	vec_done(&b.rows);
	return result;
}
