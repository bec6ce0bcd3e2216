/* SPDX-License-Identifier: MIT
 *
 * What `bench --scan` prints: the time at each size, and how it grows. */
#ifndef VIEW_BENCH_GROWTH_H
#define VIEW_BENCH_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/growth.h"

struct buf;

struct growth_view {
	const char *what, *size; /* what was timed; the name of the size */
	const struct growth_point *points;
	size_t n;
	const struct growth *growth; /* of the points */
	const char *stopped;         /* why sizes are missing; "" none are */
	bool colour;
	size_t width;
};

void growth_print(const struct growth_view *v, struct buf *out);

#endif
