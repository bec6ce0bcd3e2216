/* SPDX-License-Identifier: MIT
 *
 * The look of terminal pages: one accent colour, bold for what to read first, dim for what to read
 * last. All take `colour`, decided once by cmd/; without it nothing but text is written. */
#ifndef VIEW_KIT_STYLE_H
#define VIEW_KIT_STYLE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_ACCENT, STYLE_WARNING, STYLE_REVERSE };

void style_begin(struct buf *out, enum style s, bool colour);
void style_end(struct buf *out, enum style s, bool colour);
/* From any style to this one, for screens: without `colour`, bold, dim and reverse stay. */
void style_switch(struct buf *out, enum style s, bool colour);
/* Text in a style. */
void style_add(struct buf *out, enum style s, bool colour, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* A bar of `width` columns filled to share (0 … 1), in eighths of a column. */
void style_bar(struct buf *out, double share, size_t width);

/* Values as a line of `width` braille characters, two values each (means of neighbours), scaled
 * from 0 to `most`. */
void style_sparkline(struct buf *out, const double *values, size_t n, double most, size_t width);

/* Adds words wrapped to `width` columns (text_prose_width), further lines indented. */
void style_wrap(struct buf *out, const char *text, size_t indent, size_t width);

#endif
