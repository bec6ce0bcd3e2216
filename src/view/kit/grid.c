/* SPDX-License-Identifier: MIT
 * See grid.h. */
#include "view/kit/grid.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "base/banned.h"

static const struct grid_cell BLANK = { .text = " ", .n = 1, .width = 1 };

void grid_resize(struct grid *g, int rows, int columns)
{
	rows = rows < 1 ? 1 : rows > GRID_SIDE_MAX ? GRID_SIDE_MAX : rows;
	columns = columns < 1 ? 1 : columns > GRID_SIDE_MAX ? GRID_SIDE_MAX : columns;
	g->cells = xrealloc(g->cells, (size_t)rows * (size_t)columns, sizeof *g->cells);
	g->rows = rows;
	g->columns = columns;
	for (int i = 0; i < rows * columns; i++)
		g->cells[i] = BLANK;
}

void grid_done(struct grid *g)
{
	free(g->cells);
	*g = GRID_INIT;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static struct grid_cell *cell_at(const struct grid *g, int row, int column)
{
	return &g->cells[row * g->columns + column];
}

/* Half of a wide character that is written over leaves a blank. */
static void split_wide(struct grid *g, int row, int column)
{
	struct grid_cell *c = cell_at(g, row, column);

	if (c->width == 0 && column > 0)
		*cell_at(g, row, column - 1) = BLANK;
	if (c->width == 2 && column + 1 < g->columns)
		*cell_at(g, row, column + 1) = BLANK;
}

static void add_mark(struct grid *g, int row, int column, const char *bytes, size_t n)
{
	struct grid_cell *c;

	if (column > 0 && cell_at(g, row, column - 1)->width == 0)
		column--;
	if (column == 0)
		return;
	c = cell_at(g, row, column - 1);
	if (c->n + n > sizeof c->text)
		return; /* no letter has so many marks */
	memcpy(c->text + c->n, bytes, n);
	c->n = (unsigned char)(c->n + n);
}

static int put_char(struct grid *g, int row, int column, enum style s, const char *bytes, size_t n)
{
	uint32_t c;
	int width;

	text_decode(bytes, n, &c);
	width = text_char_width(c);
	if (width == 0) {
		add_mark(g, row, column, bytes, n);
		return column;
	}
	if (column < 0 || column + width > g->columns)
		return column + width;
	for (int i = 0; i < width; i++) {
		split_wide(g, row, column + i);
		*cell_at(g, row, column + i) = (struct grid_cell){ .style = (unsigned char)s };
	}
	memcpy(cell_at(g, row, column)->text, bytes, n);
	cell_at(g, row, column)->n = (unsigned char)n;
	cell_at(g, row, column)->width = (unsigned char)width;
	return column + width;
}

int grid_put(struct grid *g, int row, int column, enum style s, const char *text)
{
	struct buf safe = BUF_INIT;
	uint32_t c;

	text_add_printable(&safe, text, strlen(text));
	for (size_t at = 0; at < safe.n && row >= 0 && row < g->rows && column < g->columns;) {
		size_t n = text_decode(safe.data + at, safe.n - at, &c);

		column = put_char(g, row, column, s, safe.data + at, n);
		at += n;
	}
	buf_done(&safe);
	return column < g->columns ? column : g->columns;
}

int grid_field(struct grid *g, int row, int column, int width, enum style s, enum text_cut how,
	const char *text)
{
	struct buf safe = BUF_INIT, cut = BUF_INIT;

	text_add_printable(&safe, text, strlen(text));
	if (width > 0)
		text_add_cut(&cut, buf_str(&safe), (size_t)width, how);
	grid_put(g, row, column, s, buf_str(&cut));
	buf_done(&safe);
	buf_done(&cut);
	return column + width;
}

int grid_field_right(struct grid *g, int row, int column, int width, enum style s, const char *text)
{
	int blanks = width - (int)text_width(text);

	return grid_field(g, row, column + (blanks > 0 ? blanks : 0),
		blanks > 0 ? width - blanks : width, s, TEXT_CUT_END, text);
}

void grid_style_row(struct grid *g, int row, enum style s)
{
	for (int i = 0; row >= 0 && row < g->rows && i < g->columns; i++)
		cell_at(g, row, i)->style = (unsigned char)s;
}

/* ---- out ------------------------------------------------------------------------------------- */

static bool is_blank(const struct grid_cell *c, bool styled)
{
	return c->width == 1 && c->n == 1 && c->text[0] == ' ' &&
		(!styled || c->style != STYLE_REVERSE);
}

static bool is_same(const struct grid_cell *a, const struct grid_cell *b)
{
	return a->n == b->n && a->width == b->width && a->style == b->style &&
		memcmp(a->text, b->text, a->n) == 0;
}

static int row_end(const struct grid *g, int row, bool styled)
{
	int end = g->columns;

	while (end > 0 && is_blank(cell_at(g, row, end - 1), styled))
		end--;
	return end;
}

void grid_emit(const struct grid *g, bool styled, bool colour, struct buf *out)
{
	int rows = g->rows;

	while (rows > 0 && row_end(g, rows - 1, styled) == 0)
		rows--;
	for (int row = 0; row < rows; row++) {
		enum style now = STYLE_PLAIN;
		int end = row_end(g, row, styled);

		for (int i = 0; i < end; i++) {
			const struct grid_cell *c = cell_at(g, row, i);

			if (styled && c->style != now)
				style_switch(out, now = c->style, colour);
			buf_add(out, c->text, c->n);
		}
		if (now != STYLE_PLAIN)
			style_switch(out, STYLE_PLAIN, colour);
		buf_addc(out, '\n');
	}
}

/* Whether terminals may disagree with us on the width: then the cursor is placed anew behind it. Our own
 * bars and sparklines (U+2500 … U+28FF) are one column everywhere. */
static bool is_doubtful(const struct grid_cell *c)
{
	uint32_t first;

	text_decode(c->text, c->n, &first);
	return first >= 0x300 && (first < 0x2500 || first > 0x28ff);
}

void grid_diff(const struct grid *from, const struct grid *to, bool colour, struct buf *out)
{
	bool is_all = from->rows != to->rows || from->columns != to->columns;
	enum style now = STYLE_PLAIN;

	if (is_all)
		buf_adds(out, "\033[0m\033[2J");
	for (int row = 0; row < to->rows; row++) {
		int at = -1; /* the terminal's cursor, where it is known to be in this row */

		for (int i = 0; i < to->columns; i++) {
			const struct grid_cell *c = cell_at(to, row, i);
			const struct grid_cell *was = is_all ? &BLANK : cell_at(from, row, i);

			if (c->width == 0 || is_same(c, was))
				continue;
			if (at != i)
				buf_printf(out, "\033[%d;%dH", row + 1, i + 1);
			if (c->style != now)
				style_switch(out, now = c->style, colour);
			buf_add(out, c->text, c->n);
			at = is_doubtful(c) ? -1 : i + c->width;
		}
	}
	if (now != STYLE_PLAIN)
		style_switch(out, STYLE_PLAIN, colour);
}
