/* SPDX-License-Identifier: MIT
 *
 * What `bench --scale` prints: the speed-up at each number of threads, and what keeps them from scaling. */
#ifndef VIEW_BENCH_SCALING_H
#define VIEW_BENCH_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/scaling.h"

struct buf;

struct scaling_view {
	const char *what;
	const struct scaling_point *points;
	size_t n;
	const struct scaling *scaling;
	unsigned n_cpus;
	bool has_gil; /* of the interpreter */
	const char *python;
	bool colour;
	size_t width;
};

void scaling_print(const struct scaling_view *v, struct buf *out);

#endif
