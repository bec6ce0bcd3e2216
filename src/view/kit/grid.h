/* SPDX-License-Identifier: MIT
 *
 * A screen as a grid of cells: drawn into without a terminal, so that tests can read it, then turned
 * into the bytes that change one screen into the next. Cells hold one character with its combining
 * marks; a wide one takes two. All text is made safe when it is put (text_add_printable).
 *
 *	struct grid g = GRID_INIT;
 *	grid_resize(&g, 24, 80);                   blank
 *	grid_put(&g, 0, 0, STYLE_BOLD, "title");
 *	grid_diff(&shown, &g, colour, &bytes);
 *
 * The bytes are ECMA-48 (cursor position, SGR), which every terminal of the last decades understands:
 * no terminal description and no locale is needed. */
#ifndef VIEW_KIT_GRID_H
#define VIEW_KIT_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "view/kit/style.h"

struct buf;

enum { GRID_CELL_BYTES = 16, GRID_SIDE_MAX = 1000 };

struct grid_cell {
	char text[GRID_CELL_BYTES - 3]; /* UTF-8, n bytes */
	unsigned char n, width, style;  /* width 0: the right half of a wide one */
};

struct grid {
	int rows, columns;
	struct grid_cell *cells; /* owned */
};

#define GRID_INIT ((struct grid){ 0 })

/* Blank, in this size (1 … GRID_SIDE_MAX each). */
void grid_resize(struct grid *g, int rows, int columns);
void grid_done(struct grid *g);

/* Puts text at a cell; what lies outside is left out. Returns the column behind it. */
int grid_put(struct grid *g, int row, int column, enum style s, const char *text);
/* Puts text cut to `width` columns; returns the column behind the field, `column + width`. */
int grid_field(struct grid *g, int row, int column, int width, enum style s, enum text_cut how,
	const char *text);
/* The same, at the right end of the field. */
int grid_field_right(
	struct grid *g, int row, int column, int width, enum style s, const char *text);
/* Gives a whole row a style. */
void grid_style_row(struct grid *g, int row, enum style s);

/* Lines without blanks at their ends; styled where `styled`. Rows that are blank to the end are left out. */
void grid_emit(const struct grid *g, bool styled, bool colour, struct buf *out);

/* The bytes that make a terminal that shows `from` show `to`; of another size: all of it. */
void grid_diff(const struct grid *from, const struct grid *to, bool colour, struct buf *out);

#endif
