/* SPDX-License-Identifier: MIT
 * See growth.h. */
#include "analyze/stats/growth.h"

#include <math.h>

#include "analyze/stats/distribution.h"
#include "base/banned.h"

struct line {
	double slope, slope_error, middle_x; /* slope_error: standard error */
	double rest;                         /* sum of squared distances to the line */
};

static double log_size(const struct growth_point *p)
{
	return log(p->n);
}

/* Least squares through (log n, log seconds − shift(n)); n is at least 3. */
static struct line line_of(const struct growth_point *p, size_t n)
{
	struct line l = { 0 };
	double mean_y = 0, xx = 0, xy = 0, yy = 0;

	for (size_t i = 0; i < n; i++) {
		l.middle_x += log_size(&p[i]) / (double)n;
		mean_y += log(p[i].seconds) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double x = log_size(&p[i]) - l.middle_x, y = log(p[i].seconds) - mean_y;

		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	l.slope = xy / xx;
	l.rest = fmax(0, yy - l.slope * xy);
	l.slope_error = sqrt(l.rest / (double)(n - 2) / xx);
	return l;
}

static struct interval around(double value, double error, size_t degrees)
{
	double half = error * distribution_t(0.975, (double)degrees);

	return (struct interval){ value - half, value + half };
}

/* Whether a parabola fits better than the line, by more than chance (99 of 100) and by more than a tenth of an exponent from
 * end to end. The part of x² that the line cannot describe is regressed on what the line leaves. */
static bool bends(const struct growth_point *p, size_t n, const struct line *l)
{
	double mean_square = 0, cubic = 0, xx = 0, qq = 0, qy = 0, mean_y = 0, bend, left;

	if (n < 5)
		return false;
	for (size_t i = 0; i < n; i++) {
		double x = log_size(&p[i]) - l->middle_x;

		mean_square += x * x / (double)n;
		mean_y += log(p[i].seconds) / (double)n;
		cubic += x * x * x;
		xx += x * x;
	}
	for (size_t i = 0; i < n; i++) {
		double x = log_size(&p[i]) - l->middle_x;
		double q = x * x - mean_square - cubic / xx * x;

		qq += q * q;
		qy += q * (log(p[i].seconds) - mean_y - l->slope * x);
	}
	if (!(qq > 0))
		return false;
	bend = qy / qq;
	left = fmax(0, l->rest - bend * qy) / (double)(n - 3);
	return fabs(bend) > distribution_t(0.995, (double)(n - 3)) * sqrt(left / qq) &&
		fabs(2 * bend) * (log_size(&p[n - 1]) - log_size(&p[0])) > 0.1;
}

static double flat(double n)
{
	(void)n;
	return 1;
}

static double linear(double n)
{
	return n;
}

static double n_log_n(double n)
{
	return n * log(n);
}

static double square(double n)
{
	return n * n;
}

static double square_log(double n)
{
	return n * n * log(n);
}

static double cube(double n)
{
	return n * n * n;
}

static const struct {
	const char *name;
	double (*of)(double n);
} usual[] = {
	{ "a constant", flat },
	{ "log n", log },
	{ "√n", sqrt },
	{ "n", linear },
	{ "n log n", n_log_n },
	{ "n²", square },
	{ "n² log n", square_log },
	{ "n³", cube },
};

enum { N_USUAL = sizeof usual / sizeof *usual, POINTS_NAMED = 64 };

/* The exponent that this growth shows at these sizes, and how far the times are from it. */
static double distance(const struct growth_point *p, size_t n, size_t which, double *ret_exponent)
{
	double mean = 0, sum = 0;
	struct growth_point model[POINTS_NAMED];

	for (size_t i = 0; i < n; i++) {
		double value = usual[which].of(p[i].n);

		if (!(value > 0))
			return INFINITY;
		model[i] = (struct growth_point){ p[i].n, value };
		mean += log(p[i].seconds / value) / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		sum += pow(log(p[i].seconds / model[i].seconds) - mean, 2);
	*ret_exponent = line_of(model, n).slope;
	return sum;
}

static void name_it(const struct growth_point *p, size_t n, struct growth *g)
{
	double best = INFINITY, second = INFINITY;

	if (n > POINTS_NAMED || g->interval.high - g->interval.low > 0.8)
		return; /* everything would fit */
	for (size_t i = 0; i < N_USUAL; i++) {
		double exponent = NAN, far = distance(p, n, i, &exponent);
		bool is_possible = exponent >= g->interval.low && exponent <= g->interval.high;

		/* A tenth of an exponent is as near as the best word may be where none is possible. */
		if (far < best && (is_possible || fabs(exponent - g->exponent) < 0.1)) {
			best = far;
			g->closest = usual[i].name;
		}
	}
	for (size_t i = 0; i < N_USUAL; i++) {
		double exponent = NAN, far = distance(p, n, i, &exponent);

		if (usual[i].name != g->closest && far < second && exponent >= g->interval.low &&
			exponent <= g->interval.high) {
			second = far;
			g->also = usual[i].name;
		}
	}
}

struct growth growth_of(const struct growth_point *p, size_t n)
{
	struct growth g = { .exponent = NAN,
		.interval = { -INFINITY, INFINITY },
		.first_exponent = NAN,
		.closest = "",
		.also = "" };
	struct line l;

	if (n < GROWTH_LEAST)
		return g;
	l = line_of(p, n);
	g.is_bent = n >= 2 * GROWTH_LEAST - 1 && bends(p, n, &l);
	if (g.is_bent) {
		g.first_exponent = line_of(p, n - n / 2).slope;
		g.first = n / 2;
		l = line_of(p + g.first, n - g.first);
	}
	g.exponent = l.slope;
	g.interval = around(l.slope, l.slope_error, n - g.first - 2);
	name_it(p + g.first, n - g.first, &g);
	return g;
}

double growth_predict(const struct growth_point *p, size_t n, double size)
{
	const struct growth_point *last = p + n - 1;
	double slope;

	if (n < 2)
		return NAN;
	slope = log(last->seconds / last[-1].seconds) / log(last->n / last[-1].n);
	return last->seconds * pow(size / last->n, fmax(0, slope));
}
