/* SPDX-License-Identifier: MIT
 * See interval.h. */
#include "analyze/stats/interval.h"

#include <math.h>

#include "base/banned.h"

struct interval interval_weighted(double share, double n)
{
	const double z = 1.959963984540054;
	double d, centre, half;

	if (!(n > 0))
		return (struct interval){ 0, 1 };
	share = fmin(1, fmax(0, share));
	d = 1 + z * z / n;
	centre = (share + z * z / (2 * n)) / d;
	half = z / d * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	return (struct interval){ fmax(0, centre - half), fmin(1, centre + half) };
}
