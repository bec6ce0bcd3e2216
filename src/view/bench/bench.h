/* SPDX-License-Identifier: MIT
 *
 * What `bench` prints: a block per thing measured, and a table where there are several. */
#ifndef VIEW_BENCH_BENCH_H
#define VIEW_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/series.h"

struct buf;

enum bench_unit {
	BENCH_UNIT_AUTO,
	BENCH_UNIT_NSEC,
	BENCH_UNIT_USEC,
	BENCH_UNIT_MSEC,
	BENCH_UNIT_SEC
};

struct bench_view {
	const struct series *series;
	const struct series_summary *sums; /* of each */
	size_t n;
	bool timeit;          /* timeit's line and nothing else */
	bool raw;             /* timeit's raw times before it */
	int precision;        /* digits of timeit's numbers */
	enum bench_unit unit; /* of timeit's line */
	bool gc;              /* garbage collection was on */
	bool is_stored;       /* read from a file, which does not say that */
	bool colour;
	size_t width;
};

void bench_print(const struct bench_view *v, struct buf *out);

/* What timeit prints: "20 loops, best of 5: 101 msec per loop". */
void bench_print_timeit(const struct bench_view *v, size_t i, struct buf *out);

#endif
