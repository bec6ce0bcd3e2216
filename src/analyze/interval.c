/* SPDX-License-Identifier: MIT
 * See interval.h. */
#include "analyze/interval.h"

#include <math.h>

#include "base/banned.h"

struct interval interval_share(uint64_t hits, uint64_t n)
{
	const double z = 1.959963984540054;
	double p, d, centre, half;

	if (n == 0)
		return (struct interval){ 0, 1 };
	p = (double)hits / (double)n;
	d = 1 + z * z / (double)n;
	centre = (p + z * z / (2 * (double)n)) / d;
	half = z / d * sqrt(p * (1 - p) / (double)n + z * z / (4 * (double)n * (double)n));
	return (struct interval){ fmax(0, centre - half), fmin(1, centre + half) };
}
