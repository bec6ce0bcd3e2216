/* SPDX-License-Identifier: MIT
 *
 * What `compare` prints: the verdict in words, what it rests on, what is odd. */
#ifndef VIEW_BENCH_VERDICT_H
#define VIEW_BENCH_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/verdict.h"

struct buf;

struct verdict_view {
	struct verdict_result r;
	double equivalence;
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

#endif
