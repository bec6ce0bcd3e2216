/* SPDX-License-Identifier: MIT
 *
 * What `--count` prints: totals and functions of one thing, or what B does more than A. Unknown is NAN. */
#ifndef VIEW_BENCH_COUNTS_H
#define VIEW_BENCH_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct bench_counts;
struct bench_counts_gate;

struct bench_counts_view {
	const struct bench_counts *a, *b;     /* b: NULL where there is one side */
	const struct bench_counts_gate *gate; /* NULL: none */
	bool colour;
	size_t width;
};

void bench_counts_print(const struct bench_counts_view *v, struct buf *out);

#endif
