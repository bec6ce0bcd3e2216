/* SPDX-License-Identifier: MIT
 * See median.h. */
#include "agent/core/median.h"

#include <stdlib.h>

#define NOTCH \
	1.57 /* × middle half ÷ √n: how far a median is off at most, as boxes' notches are drawn */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quantile(const double *v, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? v[i] + (v[i + 1] - v[i]) * (at - (double)i) : v[n - 1];
}

/* Rounded down: the interpreter's libm is no business of ours. */
static double root(size_t n)
{
	size_t r = 1;

	while ((r + 1) * (r + 1) <= n)
		r++;
	return (double)r;
}

struct median median_of(double *v, size_t n)
{
	struct median m = { 0 };

	if (n == 0)
		return m;
	qsort(v, n, sizeof *v, by_size);
	m.value = quantile(v, n, 0.5);
	if (m.value > 0)
		m.error = NOTCH * (quantile(v, n, 0.75) - quantile(v, n, 0.25)) / root(n) / m.value;
	return m;
}
