/* SPDX-License-Identifier: MIT
 * See diff_lines.h. */
#include "analyze/diff/diff_lines.h"

#include <stdbool.h>
#include <string.h>

#include "analyze/diff/diff_match.h"
#include "analyze/samples/profile.h"
#include "base/buf.h"
#include "base/banned.h"

struct line_key { /* followed by the text, if that is what counts */
	uint64_t pair;
	int64_t number; /* of that text in the function, or lines from the function's begin */
};

struct text_line diff_lines_text(const struct source_texts *t, const char *file, int line)
{
	struct text_line x =
		t && line > 0 ? source_texts_line(t, file, line) : (struct text_line){ 0 };

	while (x.n && strchr(" \t", x.p[0]))
		x.p++, x.n--;
	while (x.n && strchr(" \t\r", x.p[x.n - 1]))
		x.n--;
	return x;
}

static bool has_text(const struct diff_lines *l, const struct diff_pair *pair)
{
	for (int side = 0; side < 2; side++)
		if (!pair->of[side] || !l->texts[side] ||
			!source_texts_n_lines(l->texts[side], pair->of[side]->file))
			return false;
	return true;
}

/* How many lines of the function before this one read the same. */
static int64_t number_of(const struct source_texts *t, const struct profile_function *f, int line)
{
	struct text_line x = diff_lines_text(t, f->file, line);
	int64_t n = 0;

	for (int i = (int)f->first_line; i > 0 && i < line; i++) {
		struct text_line other = diff_lines_text(t, f->file, i);

		n += other.p && other.n == x.n && memcmp(other.p, x.p, x.n) == 0;
	}
	return n;
}

static uint32_t find_row(
	struct diff_lines *l, int side, const struct diff_pair *pair, size_t pair_index, int line)
{
	const struct profile_function *f = pair->of[side];
	struct line_key key = { .pair = pair_index,
		.number = line > 0 ? (int64_t)line - f->first_line : INT64_MIN };
	struct text_line text = { 0 };
	struct buf bytes = BUF_INIT;
	bool added;
	uint32_t row;

	if (has_text(l, pair))
		text = diff_lines_text(l->texts[side], f->file, line);
	if (text.n)
		key.number = number_of(l->texts[side], f, line);
	buf_add(&bytes, &key, sizeof key);
	buf_add(&bytes, text.n ? text.p : "", text.n);
	row = intern_add(&l->keys, bytes.data, bytes.n, &added);
	if (added)
		vec_push(&l->v, (struct diff_line){ .pair = pair_index });
	buf_done(&bytes);
	l->v.v[row].line[side] = line > 0 ? (uint32_t)line : 0;
	return row;
}

uint32_t diff_lines_row(
	struct diff_lines *l, int side, const struct diff_pair *pair, size_t pair_index, int line)
{
	uint64_t key = (uint64_t)pair_index << 32 | (uint32_t)line, row;

	if (map_find(&l->of[side], key, &row))
		return (uint32_t)row;
	row = find_row(l, side, pair, pair_index, line);
	map_put(&l->of[side], key, row);
	return (uint32_t)row;
}

void diff_lines_done(struct diff_lines *l)
{
	intern_done(&l->keys);
	map_done(&l->of[0]);
	map_done(&l->of[1]);
	vec_done(&l->v);
}
