/* SPDX-License-Identifier: MIT
 *
 * What a row of measured values looks like, and what can be said of the true value behind it. Pure arithmetic; the
 * arrays are the caller's and stay as they are unless a parameter is called `sorted`, which must be. */
#ifndef ANALYZE_STATS_DISTRIBUTION_H
#define ANALYZE_STATS_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/interval.h"

struct distribution {
	size_t n;
	double least, most, mean, sd; /* sd: of a sample (n − 1); NAN below two values */
	double median, q1, q3;
	size_t n_outliers; /* beyond 1.5 interquartile ranges of the quartiles (Tukey) */
};

/* n is at least 1. */
struct distribution distribution_of(const double *v, size_t n);

void distribution_sort(double *v, size_t n);
/* Between neighbours it is interpolated (R's type 7, what numpy and statistics' "inclusive" do). */
double distribution_quantile(const double *sorted, size_t n, double p);

/* Of Student's t with df degrees of freedom, and of the normal distribution; 0 < p < 1. */
double distribution_t(double p, double df);
double distribution_normal(double p);

/* Of the mean of n independent values; unknown ([−∞, ∞]) below two of them. */
struct interval distribution_mean_interval(const double *v, size_t n, double confidence);

/* Of the median of n independent values, whatever their distribution: between two of the values themselves, so many from
 * either end that the binomial distribution allows; unknown ([−∞, ∞]) where they are too few (below 6 at 95 %). */
struct interval distribution_median_interval(const double *sorted, size_t n, double confidence);

/* Hodges and Lehmann's estimate of the centre (median of the means of all pairs), and the values that Wilcoxon's signed-rank
 * test does not reject at level alpha (exact up to 50 values, then by the normal distribution). It assumes values that
 * scatter alike to both sides of the centre, nothing else. Where n is too small for alpha the interval is infinite.
 * At most DISTRIBUTION_PAIRED values: and all of them finite, else nothing is known. */
enum { DISTRIBUTION_PAIRED = 2000 };

struct centre {
	double estimate;
	struct interval interval;
};

struct centre distribution_centre(const double *v, size_t n, double alpha);

/* The same for two groups that were not measured in pairs: how far b lies above a (median of all differences), and the shifts that
 * Mann and Whitney's test does not reject (exact for small groups, then by the normal distribution). Of groups above
 * DISTRIBUTION_PAIRED values that many are taken, evenly. */
struct centre distribution_shift(
	const double *a, size_t n_a, const double *b, size_t n_b, double alpha);

/* How neighbours in time depend on each other, −1 … 1; 0 below four values or where all are equal. */
double distribution_autocorrelation(const double *v, size_t n);

/* Whether values rise or fall with time: Mann and Kendall's test, as a normal deviate. */
double distribution_trend(const double *v, size_t n);

/* How many values at the start differ from the rest (a warm-up): the split that leaves the least spread on both sides,
 * where it is worth its price (Bayes' criterion) and the two medians are apart by more than `least_change` of the later
 * one. 0: none. A split in the last third means that the values never become steady: then n. */
size_t distribution_warmup(const double *v, size_t n, double least_change);

/* Whether the values come in two groups: more than 10 % of them on each side of a gap that is wider than twice the spread
 * inside the groups. */
bool distribution_is_bimodal(const double *v, size_t n);

#endif
