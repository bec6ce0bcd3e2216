/* SPDX-License-Identifier: MIT
 * Against figures from tables and from other programs (numpy, scipy), and rows whose truth is planted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "analyze/stats/distribution.h"
#include "base/banned.h"

#define near(a, b, within) assert_true(fabs((a) - (b)) <= (within))

static void quartiles_are_those_of_numpy(void **state)
{
	double v[] = { 7, 15, 36, 39, 40, 41, 1000 };
	struct distribution d = distribution_of(v, 7);

	(void)state;
	assert_int_equal(d.n, 7);
	near(d.q1, 25.5, 1e-12);
	near(d.median, 39, 0);
	near(d.q3, 40.5, 1e-12);
	near(d.mean, 168.2857142857, 1e-9);
	near(d.sd, 366.9994161148, 1e-6);
	assert_int_equal(d.n_outliers, 1);
}

static void one_value_has_no_spread(void **state)
{
	double v = 3;
	struct distribution d = distribution_of(&v, 1);

	(void)state;
	assert_true(isnan(d.sd));
	assert_true(d.median == 3 && d.q1 == 3 && d.q3 == 3 && d.n_outliers == 0);
	assert_true(isinf(distribution_mean_interval(&v, 1, 0.95).high));
}

static void quantiles_of_t_are_those_of_the_tables(void **state)
{
	(void)state;
	near(distribution_t(0.975, 1), 12.7062047362, 1e-6);
	near(distribution_t(0.975, 9), 2.2621571628, 1e-8);
	near(distribution_t(0.995, 30), 2.7499956536, 1e-8);
	near(distribution_t(0.025, 9), -2.2621571628, 1e-8);
	near(distribution_normal(0.975), 1.9599639845, 1e-9);
	near(distribution_normal(0.00326), -distribution_normal(1 - 0.00326), 1e-9);
}

static void an_interval_of_a_mean_is_students(void **state)
{
	double v[] = { 5.1, 4.9, 5.6, 5.8, 5.0 };
	struct interval i = distribution_mean_interval(v, 5, 0.95);

	(void)state; /* scipy.stats.t.interval(0.95, 4, mean, sem) */
	near(i.low, 4.7880126739, 1e-6);
	near(i.high, 5.7719873261, 1e-6);
}

/* Of nine values the sixth smallest and largest mean of two: a sum of ranks up to 5 has a probability of 0.0195. */
static void the_centre_is_that_of_wilcoxon(void **state)
{
	double v[] = { 1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30 };
	struct centre c = distribution_centre(v, 9, 0.05);

	(void)state;
	near(c.estimate, 1.725, 1e-9);
	near(c.interval.low, 1.165, 1e-9);
	near(c.interval.high, 2.37, 1e-9);
	/* Too few values for any interval at that level. */
	assert_true(isinf(distribution_centre(v, 4, 0.05).interval.low));
	/* A shift of all values shifts all of it. */
	for (int i = 0; i < 9; i++)
		v[i] += 100;
	near(distribution_centre(v, 9, 0.05).estimate, c.estimate + 100, 1e-9);
}

static double noise(uint64_t *state) /* −1 … 1 */
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) / (double)(1ull << 52) - 1;
}

static void exact_and_normal_intervals_meet(void **state)
{
	double v[51];
	uint64_t random = 7;
	struct interval exact, normal;

	(void)state;
	for (int i = 0; i < 51; i++)
		v[i] = noise(&random);
	exact = distribution_centre(v, 50, 0.05).interval;
	normal = distribution_centre(v, 51, 0.05).interval;
	near(exact.low, normal.low, 0.03);
	near(exact.high, normal.high, 0.03);
}

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* Against all means of two, sorted; with values that are equal, too. */
static void the_centre_is_the_median_of_all_pairs(void **state)
{
	enum { MOST = 60 };
	static double v[MOST], means[MOST * (MOST + 1) / 2];
	uint64_t random = 11;

	(void)state;
	for (size_t n = 1; n <= MOST; n++) {
		size_t n_means = 0;
		struct centre c;

		for (size_t i = 0; i < n; i++)
			v[i] = n % 3 ? noise(&random) : floor(4 * noise(&random));
		for (size_t i = 0; i < n; i++)
			for (size_t k = i; k < n; k++)
				means[n_means++] = (v[i] + v[k]) / 2;
		qsort(means, n_means, sizeof *means, by_size);
		c = distribution_centre(v, n, 0.05);
		assert_true(c.estimate == (means[(n_means - 1) / 2] + means[n_means / 2]) / 2);
		if (n < 6)
			continue;
		assert_non_null(bsearch(&c.interval.low, means, n_means, sizeof *means, by_size));
		assert_non_null(bsearch(&c.interval.high, means, n_means, sizeof *means, by_size));
	}
	v[0] = INFINITY;
	assert_true(isnan(distribution_centre(v, MOST, 0.05).estimate));
}

static void a_warm_up_is_found_where_it_ends(void **state)
{
	double v[20];
	uint64_t random = 3;

	(void)state;
	for (int i = 0; i < 20; i++)
		v[i] = (i < 4 ? 2.0 : 1.0) + 0.01 * noise(&random);
	assert_int_equal(distribution_warmup(v, 20, 0.05), 4);
	for (int i = 0; i < 20; i++) /* steady */
		v[i] = 1 + 0.02 * noise(&random);
	assert_int_equal(distribution_warmup(v, 20, 0.05), 0);
	for (int i = 0; i < 20; i++) /* a change too small to matter */
		v[i] = (i < 6 ? 1.02 : 1.0) + 0.0001 * noise(&random);
	assert_int_equal(distribution_warmup(v, 20, 0.05), 0);
	for (int i = 0; i < 20; i++) /* still changing at the end */
		v[i] = i < 16 ? 1.0 : 1.5;
	assert_int_equal(distribution_warmup(v, 20, 0.05), 20);
}

static void trends_and_dependence_are_seen(void **state)
{
	double rising[30], jumping[30], still[30];
	uint64_t random = 11;

	(void)state;
	for (int i = 0; i < 30; i++) {
		rising[i] = i + noise(&random);
		jumping[i] = i % 2;
		still[i] = 1;
	}
	assert_true(distribution_trend(rising, 30) > 5);
	assert_true(distribution_autocorrelation(rising, 30) > 0.7);
	assert_true(distribution_autocorrelation(jumping, 30) < -0.9);
	assert_true(
		distribution_autocorrelation(still, 30) == 0 && distribution_trend(still, 30) == 0);
}

static void two_groups_are_told_from_one(void **state)
{
	double two[40], one[40];
	uint64_t random = 5;

	(void)state;
	for (int i = 0; i < 40; i++) {
		two[i] = (i % 3 ? 1.0 : 1.5) + 0.05 * noise(&random);
		one[i] = 1 + 0.25 * (noise(&random) + noise(&random) + noise(&random));
	}
	assert_true(distribution_is_bimodal(two, 40));
	assert_false(distribution_is_bimodal(one, 40));
}

static void the_median_lies_between_values_that_coins_allow(void **state)
{
	double v[1000];
	struct interval i;

	(void)state;
	for (size_t k = 0; k < 1000; k++)
		v[k] = (double)k + 1;
	assert_true(isinf(distribution_median_interval(v, 0, 0.95).high));
	assert_true(isinf(distribution_median_interval(v, 5, 0.95).low));
	i = distribution_median_interval(v, 6, 0.95); /* 2 · 2^-6 is below 5 % */
	assert_true(i.low == 1 && i.high == 6);
	i = distribution_median_interval(v, 10, 0.95);
	assert_true(i.low == 2 && i.high == 9);
	/* the table of the binomial distribution */
	i = distribution_median_interval(v, 1000, 0.95);
	assert_true(i.low == 469 && i.high == 532);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(quartiles_are_those_of_numpy),
		cmocka_unit_test(one_value_has_no_spread),
		cmocka_unit_test(quantiles_of_t_are_those_of_the_tables),
		cmocka_unit_test(an_interval_of_a_mean_is_students),
		cmocka_unit_test(the_centre_is_that_of_wilcoxon),
		cmocka_unit_test(the_centre_is_the_median_of_all_pairs),
		cmocka_unit_test(exact_and_normal_intervals_meet),
		cmocka_unit_test(a_warm_up_is_found_where_it_ends),
		cmocka_unit_test(trends_and_dependence_are_seen),
		cmocka_unit_test(two_groups_are_told_from_one),
		cmocka_unit_test(the_median_lies_between_values_that_coins_allow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
