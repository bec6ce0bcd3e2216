/* SPDX-License-Identifier: MIT
 * See sampled_sum.h. */
#include "analyze/stats/sampled_sum.h"

#include <math.h>

#include "analyze/stats/distribution.h"
#include "base/saturate.h"
#include "base/banned.h"

/* ---- the gamma distribution ------------------------------------------------------------------ */

/* The share below x: a series that converges fast where x is below the shape … */
static double share_by_series(double shape, double x)
{
	double term = 1 / shape, sum = term;

	for (double k = shape + 1; term > sum * 1e-15 && k < shape + 10000; k++) {
		term *= x / k;
		sum += term;
	}
	return sum * exp(shape * log(x) - x - lgamma(shape));
}

/* … and above it the continued fraction of the rest (Lentz' way to reckon it). */
static double rest_by_fraction(double shape, double x)
{
	const double tiny = 1e-300;
	double b = x + 1 - shape, c = 1 / tiny, d = 1 / b, h = d;

	for (double i = 1; i < 10000; i++) {
		double a = -i * (i - shape), step;

		b += 2;
		d = a * d + b;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = b + a / c;
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return h * exp(shape * log(x) - x - lgamma(shape));
}

static double gamma_share(double shape, double x)
{
	if (x < shape + 1)
		return share_by_series(shape, x);
	return 1 - rest_by_fraction(shape, x);
}

double gamma_quantile(double p, double shape)
{
	double low, high, z = distribution_normal(p), cube;

	if (!(shape > 0))
		return 0;
	if (shape > 200) { /* Wilson and Hilferty's: to five digits here */
		cube = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape));
		return shape * cube * cube * cube;
	}
	/* It is never below this, which is it where the shape is small. Both ends are logarithms. */
	low = (log(p) + lgamma(shape + 1)) / shape;
	high = log(shape + 10 * sqrt(shape) + 10 - log1p(-p));
	if (low < -700)
		low = -700;
	for (int i = 0; i < 60 && high - low > 1e-9; i++) {
		double middle = (low + high) / 2;

		if (gamma_share(shape, exp(middle)) < p)
			low = middle;
		else
			high = middle;
	}
	return low <= -699 ? 0 : exp((low + high) / 2);
}

/* ---- sums ------------------------------------------------------------------------------------ */

void sampled_sum_add(struct sampled_sum *s, double size, double weight)
{
	double rest;

	weight = weight >= 1 ? weight : 1;
	rest = 1 - 1 / weight; /* 1 − p */
	saturated_add(&s->n, 1);
	s->count += weight;
	s->value += size * weight;
	s->seen += size;
	s->variance += rest * size * weight * size * weight;
	s->surprise += log(weight);
}

void sampled_sum_merge(struct sampled_sum *s, const struct sampled_sum *other, double part)
{
	saturated_add(&s->n, other->n);
	s->count += other->count * part;
	s->value += other->value * part;
	s->seen += other->seen * part;
	s->variance += other->variance * part * part;
	s->surprise += other->surprise;
}

struct interval sampled_sum_interval(const struct sampled_sum *s)
{
	const double tail = 0.025;
	double missed = s->value - s->seen, more, shape, scale;
	struct interval i = { s->seen, s->seen };

	if (!s->n || !(missed > 0) || !(s->variance > 0) || !isfinite(s->variance))
		return i;
	more = 1 + 0.5 / (double)s->n;
	shape = missed * missed / s->variance * more;
	scale = s->variance / missed;
	/* Where it is likely enough that nothing was missed, what was seen may be all. */
	if (s->surprise * more > -log(tail))
		i.low += gamma_quantile(tail, shape) * scale;
	i.high += gamma_quantile(1 - tail, shape) * scale;
	return i;
}
