/* SPDX-License-Identifier: MIT
 *
 * What `compare` prints: the verdict in words, what it rests on, what is odd. */
#ifndef VIEW_VERDICT_H
#define VIEW_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict.h"

struct buf;

/* A function that the difference is in. */
struct verdict_cause {
	const char *name, *file;
	uint32_t line;
	double change;     /* of its own time, as a share of A's time */
	double plus_minus; /* half the 95 % interval */
};

struct verdict_view {
	const struct verdict *verdict;
	const struct verdict_block *blocks;
	const char *a, *b; /* names */
	double equivalence;
	double elapsed_s;                   /* NAN: unknown */
	unsigned rounds;                    /* of a block; 0: unknown */
	const struct verdict_cause *causes; /* the largest first */
	size_t n_causes;
	bool is_explained; /* they were looked for */
	bool colour;
	size_t width;
};

struct verdict_headline {
	enum verdict_word word;
	double ratio, equivalence;
	const char *why_undecided;
	bool colour;
};

/* "B is faster than A: 12 % less time", with the digits the change allows, and a newline. */
void verdict_add_headline(const struct verdict_headline *h, struct buf *out);

void verdict_print(const struct verdict_view *v, struct buf *out);
/* For a pull request: a heading and a table. */
void verdict_print_markdown(const struct verdict_view *v, struct buf *out);
/* DESIGN's contract: ratio, low, high, verdict, blocks, b_wins, control. */
void verdict_json(const struct verdict_view *v, struct buf *out);

#endif
