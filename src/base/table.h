/* SPDX-License-Identifier: MIT
 *
 * Tables for terminals: columns as data, rows of text cells, widths found when it is shown. No
 * boxes: two blanks between columns, no blanks at the end of a line, so that the output can be
 * piped and compared.
 *
 * Cells are added row by row; after the last column the next cell begins a new row. A last row
 * that is not full is shown with empty cells. Text is copied, and made safe to print, when added
 * (text_add_printable), titles too; nothing passed in has to live on. A table without any title
 * ("" or NULL in all columns) has no header line.
 *
 * Where the widest cells do not fit, the widest of the shrinkable columns gives way first, down to
 * its min_width (a column that needs less than that stays as it is). Where all are at their least
 * and the lines are still too long, whole columns go that may (gives_way). Where none may, lines stay
 * too long: a number is never cut.
 *
 *	static const struct table_column columns[] = {
 *		{ .title = "self", .align = TABLE_RIGHT },
 *		{ .title = "function", .cut = TEXT_CUT_END, .min_width = 12 },
 *		{ .title = "where", .cut = TEXT_CUT_START, .min_width = 16 },
 *	};
 *	struct table *t = table_new(columns, 3);
 *
 *	for each function f:
 *		table_cell_unit(t, UNIT_SECONDS, f->self_s);
 *		table_cell(t, "%s", f->name);
 *		table_cell(t, "%s:%u", f->file, f->line);
 *	table_emit(t, out, width, colour);
 *	table_free(t);
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "base/units.h"

struct buf;

enum table_align { TABLE_LEFT, TABLE_RIGHT };

struct table_column {
	const char *title; /* copied by table_new; NULL is "" */
	enum table_align align;
	enum text_cut cut;  /* how cells are cut; titles lose their end */
	unsigned min_width; /* columns when shrinking; 0: never shrinks */
	/* left out where lines would be too long all the same, 1 first; 0: never */
	unsigned gives_way;
};

struct table; /* rows of cells */

/* The columns are copied; n_columns is at least 1. The caller owns the table. */
struct table *table_new(const struct table_column *columns, size_t n_columns);
void table_free(struct table *t);

/* Adds the next cell of the current row. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As units_format shows it; unknown is an en dash. */
void table_cell_unit(struct table *t, enum unit unit, double value);

/* Rows begun so far, without the header. */
size_t table_n_rows(const struct table *t);

/* Appends the header (bold with colour) and the rows, each line ended by a newline. `width` is in
 * terminal columns; TEXT_UNBOUNDED where nothing needs to fit: nothing is cut, and a cell that is very long stands out of its
 * column, so that one of them does not fill every row with blanks. */
void table_emit(const struct table *t, struct buf *out, size_t width, bool colour);

#endif
