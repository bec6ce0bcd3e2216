/* SPDX-License-Identifier: MIT
 *
 * How a time grows with the size of its input: time ~ n^k. A straight line through the logarithms, by least squares; the interval is
 * Student's with as many degrees of freedom as there are sizes beyond two, so what the line misses (bends as well as noise) widens it.
 *
 * Where fixed costs or caches bend the line, one exponent for all sizes describes none of them: then the exponent is that of the
 * larger half of the sizes, and is_bent says so. */
#ifndef ANALYZE_STATS_GROWTH_H
#define ANALYZE_STATS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/interval.h"

enum { GROWTH_LEAST = 4 }; /* sizes that a fit wants */

struct growth_point {
	double n, seconds; /* both above 0 */
};

struct growth {
	double exponent;          /* k; NAN: fewer than GROWTH_LEAST sizes */
	struct interval interval; /* of it, 95 % */
	bool is_bent;             /* the line bends: exponent and interval are of the larger half */
	double first_exponent;    /* of the smaller half, where it does */
	size_t first;             /* index of the first size that they are of */
	const char *closest;      /* "n log n": the usual growth that fits best; "" none is near */
	const char *also;         /* the next one that the interval does not rule out; "" none */
};

/* Points by rising n. */
struct growth growth_of(const struct growth_point *p, size_t n);

/* What the next size will probably take, going on as the last two did; NAN below two points. */
double growth_predict(const struct growth_point *p, size_t n, double size);

#endif
