/* SPDX-License-Identifier: MIT
 * See by_name.h. */
#include "analyze/by_name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stacks.h"
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
	VEC(size_t) seen; /* by row: the last place that counted it, + 1 */
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
		vec_push(&b->seen, 0);
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

struct by_name by_name_build(struct arena *a, const struct stacks *s, bool with_lines)
{
	struct stack_frame *frames = arena_new_n(a, struct stack_frame, STACKS_DEPTH);
	double scale = s->unit == UNIT_SECONDS ? 1e9 : 1;
	struct builder b = { .with_lines = with_lines };
	struct by_name_row *rows;
	struct by_name result = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		size_t n = stacks_frames(s, i, frames);
		uint64_t value = (uint64_t)llround(s->v[i].seconds * scale);

		result.total += value;
		for (size_t k = 0; k < n; k++) {
			size_t row = row_of(&b, &frames[k]);

			b.rows.v[row].flat += k == 0 ? value : 0;
			b.rows.v[row].cum += b.seen.v[row] == i + 1 ? 0 : value;
			b.seen.v[row] = i + 1;
		}
	}
	rows = arena_copy(a, b.rows.v, b.rows.n * sizeof *rows);
	if (b.rows.n)
		qsort(rows, b.rows.n, sizeof *rows, by_flat);
	result.rows = rows;
	result.n = b.rows.n;
	intern_done(&b.keys);
	vec_done(&b.seen);
	vec_done(&b.rows);
	return result;
}
