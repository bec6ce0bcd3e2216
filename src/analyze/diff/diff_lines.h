/* SPDX-License-Identifier: MIT
 * Which line of one recording is which of another: a part of diff.c, whose header has the rule. */
#ifndef ANALYZE_DIFF_DIFF_LINES_H
#define ANALYZE_DIFF_DIFF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/code/source_texts.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct diff_pair;

struct diff_line {
	size_t pair;      /* its function */
	uint32_t line[2]; /* by side; 0: not there, or the interpreter has none for it */
};

struct diff_lines {
	const struct source_texts *texts[2]; /* borrowed; NULL: none */
	struct intern keys;
	struct map of[2];        /* by side: pair << 32 | line → row */
	VEC(struct diff_line) v; /* by row */
};

/* The row of a line of a side's function, new or not. */
uint32_t diff_lines_row(
	struct diff_lines *l, int side, const struct diff_pair *pair, size_t pair_index, int line);
/* Its text without blanks around it; .p NULL where the source is not there. */
struct text_line diff_lines_text(const struct source_texts *t, const char *file, int line);
void diff_lines_done(struct diff_lines *l);

#endif
