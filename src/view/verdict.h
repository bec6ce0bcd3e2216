/* SPDX-License-Identifier: MIT
 *
 * What `compare` prints: the verdict in words, what it rests on, what is odd. */
#ifndef VIEW_VERDICT_H
#define VIEW_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/verdict.h"

struct buf;

struct verdict_view {
	const struct verdict *verdict;
	const struct verdict_block *blocks;
	const char *a, *b; /* names */
	double equivalence;
	double elapsed_s; /* NAN: unknown */
	bool colour;
	size_t width;
};

void verdict_print(const struct verdict_view *v, struct buf *out);
/* For a pull request: a heading and a table. */
void verdict_print_markdown(const struct verdict_view *v, struct buf *out);
/* DESIGN's contract: ratio, low, high, verdict, blocks, b_wins, control. */
void verdict_json(const struct verdict_view *v, struct buf *out);

#endif
