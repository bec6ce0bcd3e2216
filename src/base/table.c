/* SPDX-License-Identifier: MIT
 * See table.h. The titles are the first row of cells, so that one path measures and draws both. */
#include "base/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum {
	GAP = 2,
	ALIGNED_MOST =
		120, /* columns of a cell that others are aligned with, where nothing is cut */
};

struct table {
	struct table_column *columns; /* owned; titles are in cells */
	size_t n_columns;
	struct arena arena;        /* text of the cells */
	VEC(const char *) cells;   /* row by row, borrowed from arena; row 0 holds the titles */
	struct buf raw, printable; /* the cell being added */
	bool has_titles;
};

static void add_text(struct table *t, const char *s, size_t n)
{
	buf_clear(&t->printable);
	text_add_printable(&t->printable, s, n);
	vec_push(&t->cells, arena_strndup(&t->arena, buf_str(&t->printable), t->printable.n));
}

struct table *table_new(const struct table_column *columns, size_t n_columns)
{
	struct table *t = xcalloc(1, sizeof *t);

	assert(n_columns > 0);
	t->columns = xcalloc(n_columns, sizeof *columns);
	memcpy(t->columns, columns, n_columns * sizeof *columns);
	t->n_columns = n_columns;
	for (size_t i = 0; i < n_columns; i++) {
		const char *title = columns[i].title ? columns[i].title : "";

		t->has_titles |= *title != '\0';
		add_text(t, title, strlen(title));
	}
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	arena_done(&t->arena);
	vec_done(&t->cells);
	buf_done(&t->raw);
	buf_done(&t->printable);
	free(t->columns);
	free(t);
}

void table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;

	buf_clear(&t->raw);
	va_start(ap, fmt);
	buf_vprintf(&t->raw, fmt, ap);
	va_end(ap);
	add_text(t, buf_str(&t->raw), t->raw.n);
}

void table_cell_unit(struct table *t, enum unit unit, double value)
{
	char text[UNITS_TEXT];

	table_cell(
		t, "%s", units_is_known(value) ? units_format(text, unit, value) : "\xe2\x80\x93");
}

size_t table_n_rows(const struct table *t)
{
	return (t->cells.n - 1) / t->n_columns;
}

/* Cell i counted over all rows; what the last row lacks is empty. */
static const char *cell_at(const struct table *t, size_t i)
{
	return i < t->cells.n ? t->cells.v[i] : "";
}

/* How wide the columns are, and which are there. */
struct layout {
	size_t *widths;
	bool *is_hidden;
};

/* The width of a column when none that may shrink is wider than `level`, unless its least is. */
static size_t column_at(const struct table_column *c, size_t widest, size_t level)
{
	size_t least = c->min_width > level ? c->min_width : level;

	return c->min_width == 0 || widest < least ? widest : least;
}

static size_t total_at(const struct table *t, const struct layout *l, size_t level)
{
	size_t total = 0;

	for (size_t i = 0; i < t->n_columns; i++)
		if (!l->is_hidden[i])
			total += GAP + column_at(&t->columns[i], l->widths[i], level);
	return total - GAP;
}

/* The highest level at which the line fits `width`, by bisection; 0 where none does. */
static size_t find_level(const struct table *t, const struct layout *l, size_t width)
{
	size_t low = 0, high = 0;

	for (size_t i = 0; i < t->n_columns; i++)
		if (l->widths[i] > high)
			high = l->widths[i];
	while (low < high) {
		size_t middle = high - (high - low) / 2;

		if (total_at(t, l, middle) <= width)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Leaves out what may be, one after another, until the rest fits. */
static void hide(const struct table *t, struct layout *l, size_t width)
{
	while (total_at(t, l, 0) > width) {
		size_t next = t->n_columns;

		for (size_t i = 0; i < t->n_columns; i++)
			if (t->columns[i].gives_way && !l->is_hidden[i] &&
				(next == t->n_columns ||
					t->columns[i].gives_way < t->columns[next].gives_way))
				next = i;
		if (next == t->n_columns)
			return;
		l->is_hidden[next] = true;
	}
}

/* Replaces the widest widths by those that fit. What the level leaves over, less than one column
 * for each that shrinks, goes to the columns on the left. */
static void shrink(const struct table *t, struct layout *l, size_t width)
{
	size_t level = find_level(t, l, width), total = total_at(t, l, level);
	size_t left = total < width ? width - total : 0;

	for (size_t i = 0; i < t->n_columns; i++) {
		size_t now = column_at(&t->columns[i], l->widths[i], level);
		bool grows = left > 0 && !l->is_hidden[i] &&
			column_at(&t->columns[i], l->widths[i], level + 1) > now;

		l->widths[i] = now + grows;
		left -= grows;
	}
}

static void add_cell(const struct table *t, struct buf *out, size_t i, size_t width, bool is_cut)
{
	const struct table_column *c = &t->columns[i % t->n_columns];
	const char *s = cell_at(t, i);
	struct buf fitted = BUF_INIT;
	size_t used, blank;

	text_add_cut(&fitted, s, is_cut ? width : TEXT_UNBOUNDED,
		i < t->n_columns ? TEXT_CUT_END : c->cut);
	used = text_width(buf_str(&fitted));
	blank = used < width ? width - used : 0;
	if (c->align == TABLE_RIGHT)
		buf_fill(out, ' ', blank);
	buf_add(out, buf_str(&fitted), fitted.n);
	if (c->align == TABLE_LEFT)
		buf_fill(out, ' ', blank);
	buf_done(&fitted);
}

static void add_row(
	const struct table *t, struct buf *out, size_t first, const struct layout *l, bool is_cut)
{
	size_t start = out->n;
	bool is_later = false;

	for (size_t i = 0; i < t->n_columns; i++) {
		if (l->is_hidden[i])
			continue;
		buf_fill(out, ' ', is_later ? GAP : 0);
		is_later = true;
		add_cell(t, out, first + i, l->widths[i], is_cut);
	}
	while (out->n > start && out->data[out->n - 1] == ' ')
		out->data[--out->n] = '\0';
}

void table_emit(const struct table *t, struct buf *out, size_t width, bool colour)
{
	struct layout l = { .widths = xcalloc(t->n_columns, sizeof *l.widths),
		.is_hidden = xcalloc(t->n_columns, sizeof *l.is_hidden) };
	bool is_cut = width != TEXT_UNBOUNDED;

	for (size_t i = 0; i < t->cells.n; i++) {
		size_t cell = text_width(t->cells.v[i]);

		if (!is_cut && cell > ALIGNED_MOST)
			cell = ALIGNED_MOST;
		if (cell > l.widths[i % t->n_columns])
			l.widths[i % t->n_columns] = cell;
	}
	if (is_cut) {
		hide(t, &l, width);
		shrink(t, &l, width);
	}
	for (size_t i = t->has_titles ? 0 : t->n_columns; i < t->cells.n; i += t->n_columns) {
		bool bold = colour && i == 0;

		buf_adds(out, bold ? "\x1b[1m" : "");
		add_row(t, out, i, &l, is_cut);
		buf_adds(out, bold ? "\x1b[0m\n" : "\n");
	}
	free(l.widths);
	free(l.is_hidden);
}
