/* SPDX-License-Identifier: MIT
 * See distribution.h. */
#include "analyze/stats/distribution.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/banned.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void distribution_sort(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_value);
}

static double *sorted_copy(const double *v, size_t n)
{
	double *copy = xmalloc(n * sizeof *v);

	memcpy(copy, v, n * sizeof *v);
	distribution_sort(copy, n);
	return copy;
}

double distribution_quantile(const double *sorted, size_t n, double p)
{
	double at = p * (double)(n - 1);
	size_t below = (size_t)at;

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double median_of(const double *v, size_t n)
{
	double *sorted = sorted_copy(v, n), m = distribution_quantile(sorted, n, 0.5);

	free(sorted);
	return m;
}

static double mean_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

/* Sum of squared distances to the mean. */
static double spread_of(const double *v, size_t n)
{
	double mean = mean_of(v, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return sum;
}

struct distribution distribution_of(const double *v, size_t n)
{
	struct distribution d = { .n = n, .mean = mean_of(v, n), .sd = NAN };
	double *sorted = sorted_copy(v, n), reach;

	d.least = sorted[0];
	d.most = sorted[n - 1];
	d.q1 = distribution_quantile(sorted, n, 0.25);
	d.median = distribution_quantile(sorted, n, 0.5);
	d.q3 = distribution_quantile(sorted, n, 0.75);
	if (n > 1)
		d.sd = sqrt(spread_of(v, n) / (double)(n - 1));
	reach = 1.5 * (d.q3 - d.q1);
	for (size_t i = 0; i < n; i++)
		d.n_outliers += v[i] < d.q1 - reach || v[i] > d.q3 + reach;
	free(sorted);
	return d;
}

double distribution_normal(double p)
{
	/* Bisection over erfc: plain, and exact to the last digits; never on a hot path. */
	double low = -40, high = 40;

	for (int i = 0; i < 200 && high - low > 1e-15; i++) {
		double middle = (low + high) / 2;

		if (0.5 * erfc(-middle / M_SQRT2) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* The regularised incomplete beta function by its continued fraction (Lentz), for t's distribution. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 500; m++) {
		double change, up = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double down = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		for (int i = 0; i < 2; i++) {
			double step = i ? down : up;

			d = 1 + step * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + step / c;
			c = fabs(c) < tiny ? tiny : c;
			change = c * d;
			h *= change;
		}
		if (fabs(change - 1) < 1e-15)
			break;
	}
	return h;
}

static double beta_regular(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double t_below(double t, double df)
{
	double tail = 0.5 * beta_regular(df / 2, 0.5, df / (df + t * t));

	return t > 0 ? 1 - tail : tail;
}

double distribution_t(double p, double df)
{
	double high = 1, low;

	if (p < 0.5)
		return -distribution_t(1 - p, df);
	while (t_below(high, df) < p && high < 1e12)
		high *= 2;
	low = high == 1 ? 0 : high / 2;
	for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
		double middle = (low + high) / 2;

		if (t_below(middle, df) < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

struct interval distribution_mean_interval(const double *v, size_t n, double confidence)
{
	double mean, half;

	if (n < 2)
		return (struct interval){ -INFINITY, INFINITY };
	mean = mean_of(v, n);
	half = distribution_t(0.5 + confidence / 2, (double)(n - 1)) *
		sqrt(spread_of(v, n) / (double)(n - 1) / (double)n);
	return (struct interval){ mean - half, mean + half };
}

/* How many of n fair coins at most show heads with a probability of at most `tail`; −1: not even none does. */
static int64_t coin_limit(size_t n, double tail)
{
	double log_way = -(double)n * M_LN2, sum = 0; /* of k heads */
	int64_t k = -1;

	for (size_t heads = 0; heads < n; heads++) {
		sum += exp(log_way);
		if (sum > tail)
			break;
		k = (int64_t)heads;
		log_way += log((double)(n - heads)) - log((double)(heads + 1));
	}
	return k;
}

struct interval distribution_median_interval(const double *sorted, size_t n, double confidence)
{
	int64_t k = coin_limit(n, (1 - confidence) / 2);

	if (k < 0)
		return (struct interval){ -INFINITY, INFINITY };
	return (struct interval){ sorted[k], sorted[n - 1 - (size_t)k] };
}

/* The largest k for which a signed-rank sum of at most k has a probability of at most `tail`; −1: none has. */
static int64_t signed_rank_limit(size_t n, double tail)
{
	size_t most = n * (n + 1) / 2;
	double *ways, sum = 0, all;
	int64_t k = -1;

	if (n > 50) {
		double mean = (double)most / 2;
		double sd = sqrt((double)n * (double)(n + 1) * (double)(2 * n + 1) / 24);

		return (int64_t)floor(mean + distribution_normal(tail) * sd - 0.5);
	}
	ways = xcalloc(most + 1, sizeof *ways); /* of writing a sum with ranks up to r, each once */
	ways[0] = 1;
	for (size_t r = 1; r <= n; r++)
		for (size_t s = most + 1; s-- > r;)
			ways[s] += ways[s - r];
	all = ldexp(1, (int)n);
	while (k + 1 <= (int64_t)most && (sum + ways[k + 1]) / all <= tail)
		sum += ways[++k];
	free(ways);
	return k;
}

/* The value that would stand at `k` if v were sorted; v is reordered (Hoare's selection). */
static double select_at(double *v, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		double pivot = v[low + (high - low) / 2];
		size_t i = low, j = high;

		for (;; i++, j--) {
			double other;

			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			other = v[i];
			v[i] = v[j];
			v[j] = other;
		}
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[k];
}

static double pair_mean(const double *v, size_t i, size_t j)
{
	return (v[i] + v[j]) / 2;
}

/* The means of all pairs (i, j) with i ≤ j of sorted values: rows that rise to the right, columns that rise downwards. `from` and
 * `to` hold what is left to search of each row. */
struct pairs {
	const double *v; /* sorted, n of them */
	size_t n;
	size_t *from, *to; /* owned */
	/* of the pivot at hand: where each row stops being less, and begins to be more */
	size_t *below, *above;
};

/* One near the middle of what is left: the middle of the row that holds the middle one. */
static double pairs_pivot(const struct pairs *p)
{
	size_t left = 0, before = 0;

	for (size_t i = 0; i < p->n; i++)
		left += p->to[i] - p->from[i];
	for (size_t i = 0; i < p->n; i++) {
		size_t here = p->to[i] - p->from[i];

		if (here && before + here > left / 2)
			return pair_mean(p->v, i, p->from[i] + here / 2);
		before += here;
	}
	return NAN;
}

/* Fills `below` and `above` for the pivot, and tells how many of all are less, and how many are not more. As rows rise downwards,
 * the places only move to the left. */
static void pairs_split(struct pairs *p, double pivot, size_t *ret_less, size_t *ret_not_more)
{
	size_t less = p->n, not_more = p->n;

	*ret_less = *ret_not_more = 0;
	for (size_t i = 0; i < p->n; i++) {
		while (less > i && pair_mean(p->v, i, less - 1) >= pivot)
			less--;
		while (not_more > i && pair_mean(p->v, i, not_more - 1) > pivot)
			not_more--;
		p->below[i] = less > i ? less : i;
		p->above[i] = not_more > i ? not_more : i;
		*ret_less += p->below[i] - i;
		*ret_not_more += p->above[i] - i;
	}
}

/* The k-th mean (from 0) if all were sorted: in n log n steps, where sorting them would take n² log n. */
static double pairs_at(struct pairs *p, size_t k)
{
	for (size_t i = 0; i < p->n; i++) {
		p->from[i] = i;
		p->to[i] = p->n;
	}
	for (;;) {
		double pivot = pairs_pivot(p);
		size_t less, not_more;

		pairs_split(p, pivot, &less, &not_more);
		if (k >= less && k < not_more)
			return pivot;
		for (size_t i = 0; i < p->n; i++)
			if (k < less)
				p->to[i] = p->below[i] < p->to[i] ? p->below[i] : p->to[i];
			else
				p->from[i] = p->above[i] > p->from[i] ? p->above[i] : p->from[i];
		for (size_t i = 0; i < p->n; i++)
			if (p->from[i] > p->to[i])
				p->from[i] = p->to[i];
	}
}

/* The mean in the middle; of an even number the mean of the two there. */
static double pairs_middle(struct pairs *p, size_t n_pairs)
{
	double upper = pairs_at(p, n_pairs / 2), lower = -INFINITY;
	size_t n_less = 0;

	if (n_pairs % 2)
		return upper;
	for (size_t i = 0; i < p->n; i++) { /* the largest below it, unless equals stand there */
		n_less += p->below[i] - i;
		if (p->below[i] > i)
			lower = fmax(lower, pair_mean(p->v, i, p->below[i] - 1));
	}
	return n_less == n_pairs / 2 ? (lower + upper) / 2 : upper;
}

static bool are_finite(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return false;
	return true;
}

struct centre distribution_centre(const double *v, size_t n, double alpha)
{
	struct centre c = { NAN, { -INFINITY, INFINITY } };
	size_t n_pairs = n * (n + 1) / 2, *places;
	double *sorted;
	struct pairs p;
	int64_t limit;

	if (n == 0 || n > DISTRIBUTION_PAIRED || !are_finite(v, n))
		return c;
	sorted = sorted_copy(v, n);
	places = xmalloc(4 * n * sizeof *places);
	p = (struct pairs){ sorted, n, places, places + n, places + 2 * n, places + 3 * n };
	c.estimate = pairs_middle(&p, n_pairs);
	limit = signed_rank_limit(n, alpha / 2);
	if (limit >= 0)
		c.interval = (struct interval){ pairs_at(&p, (size_t)limit),
			pairs_at(&p, n_pairs - 1 - (size_t)limit) };
	free(places);
	free(sorted);
	return c;
}

/* The largest u for which Mann and Whitney's statistic is at most u with a probability of at most `tail`; −1: none has. */
static int64_t rank_sum_limit(size_t n, size_t m, double tail)
{
	double *ways, sum = 0, all;
	int64_t u = -1;
	size_t most = n * m;

	if (most > 400) {
		double sd = sqrt((double)most * (double)(n + m + 1) / 12);

		return (int64_t)floor((double)most / 2 + distribution_normal(tail) * sd - 0.5);
	}
	/* Coefficients of the Gaussian binomial: times (1 − x^(m+i)), divided by (1 − x^i), for i = 1 … n. */
	ways = xcalloc(most + 1, sizeof *ways);
	ways[0] = 1;
	for (size_t i = 1; i <= n; i++) {
		for (size_t s = most + 1; s-- > m + i;)
			ways[s] -= ways[s - m - i];
		for (size_t s = i; s <= most; s++)
			ways[s] += ways[s - i];
	}
	all = exp(lgamma((double)(n + m + 1)) - lgamma((double)(n + 1)) - lgamma((double)(m + 1)));
	while (u + 1 <= (int64_t)most && (sum + ways[u + 1]) / all <= tail)
		sum += ways[++u];
	free(ways);
	return u;
}

struct centre distribution_shift(
	const double *a, size_t n_a, const double *b, size_t n_b, double alpha)
{
	struct centre c = { NAN, { -INFINITY, INFINITY } };
	size_t n = n_a < DISTRIBUTION_PAIRED ? n_a : DISTRIBUTION_PAIRED;
	size_t m = n_b < DISTRIBUTION_PAIRED ? n_b : DISTRIBUTION_PAIRED, n_pairs = n * m, at = 0;
	int64_t limit;
	double *d;

	if (n_pairs == 0)
		return c;
	d = xmalloc(n_pairs * sizeof *d);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			d[at++] = b[j * n_b / m] - a[i * n_a / n];
	c.estimate =
		(select_at(d, n_pairs, (n_pairs - 1) / 2) + select_at(d, n_pairs, n_pairs / 2)) / 2;
	limit = rank_sum_limit(n, m, alpha / 2);
	if (limit >= 0)
		c.interval = (struct interval){ select_at(d, n_pairs, (size_t)limit),
			select_at(d, n_pairs, n_pairs - 1 - (size_t)limit) };
	free(d);
	return c;
}

double distribution_autocorrelation(const double *v, size_t n)
{
	double mean, sum = 0, all;

	if (n < 4)
		return 0;
	mean = mean_of(v, n);
	all = spread_of(v, n);
	for (size_t i = 1; i < n; i++)
		sum += (v[i] - mean) * (v[i - 1] - mean);
	return all > 0 ? sum / all : 0;
}

double distribution_trend(const double *v, size_t n)
{
	double s = 0, variance = (double)n * (double)(n - 1) * (double)(2 * n + 5) / 18;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			s += (v[j] > v[i]) - (v[j] < v[i]);
	if (n < 4 || s == 0)
		return 0;
	return (s - (s > 0 ? 1 : -1)) / sqrt(variance);
}

size_t distribution_warmup(const double *v, size_t n, double least_change)
{
	double whole, best = INFINITY, floor_spread, before, after;
	size_t cut = 0;

	if (n < 5)
		return 0;
	whole = spread_of(v, n);
	for (size_t k = 1; k + 2 <= n; k++) {
		double spread = spread_of(v, k) + spread_of(v + k, n - k);

		if (spread < best) {
			best = spread;
			cut = k;
		}
	}
	/* A single step may leave nothing at all: a millionth of the level is spread enough. */
	floor_spread = (double)n * pow(1e-6 * fabs(mean_of(v, n)), 2);
	if ((double)n * log((whole + floor_spread) / (best + floor_spread)) < 3 * log((double)n))
		return 0;
	before = median_of(v, cut);
	after = median_of(v + cut, n - cut);
	if (fabs(before - after) <= least_change * fabs(after))
		return 0;
	return cut > 2 * n / 3 ? n : cut;
}

bool distribution_is_bimodal(const double *v, size_t n)
{
	double *sorted, best = INFINITY, gap = 0, inside = 0;
	size_t cut = 0;

	if (n < 10)
		return false;
	sorted = sorted_copy(v, n);
	for (size_t k = n / 10 + 1; k + n / 10 + 1 <= n; k++) {
		double spread = spread_of(sorted, k) + spread_of(sorted + k, n - k);

		if (spread < best) {
			best = spread;
			cut = k;
		}
	}
	if (cut) {
		gap = sorted[cut] - sorted[cut - 1];
		inside = sqrt(best / (double)n);
	}
	free(sorted);
	return cut && gap > 2 * inside;
}
