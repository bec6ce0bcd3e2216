/* SPDX-License-Identifier: MIT
 * sampled_sum: intervals hold what they promise, drawn thousands of times with fixed seeds. */
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "analyze/stats/sampled_sum.h"

enum { GROUPS = 4, RUNS = 1000 };

static const double PERIOD = 524288;

static double draw(uint64_t *state) /* 0 … 1: splitmix64 */
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* A site: so many blocks of so many periods each. */
struct site {
	struct {
		double n, periods;
	} of[GROUPS];
};

static bool is_held(const struct site *x, uint64_t *seed, bool *ret_seen)
{
	struct sampled_sum s = { 0 };
	struct interval i;
	double truth = 0;

	for (size_t k = 0; k < GROUPS; k++) {
		double size = x->of[k].periods * PERIOD, p = -expm1(-x->of[k].periods);

		for (double n = 0; n < x->of[k].n; n++) {
			truth += size;
			if (draw(seed) < p)
				sampled_sum_add(&s, size, 1 / p);
		}
	}
	i = sampled_sum_interval(&s);
	*ret_seen = s.n > 0;
	return truth >= i.low * (1 - 1e-9) && truth <= i.high * (1 + 1e-9);
}

static void intervals_hold_the_truth(void **state)
{
	static const struct site sites[] = {
		{ { { 100, 0.01 } } },
		{ { { 200, 0.01 } } },
		{ { { 300, 0.01 } } },
		{ { { 500, 0.01 } } },
		{ { { 1000, 0.01 } } },
		{ { { 10000, 0.01 } } },
		{ { { 4, 0.5 } } },
		{ { { 3, 2 } } },
		{ { { 10, 0.69 } } },
		{ { { 2000, 0.001 }, { 30, 0.1 }, { 2, 1 }, { 1, 50 } } },
		{ { { 20, 0.02 }, { 5, 0.3 }, { 2, 2 } } },
		{ { { 500, 0.01 }, { 1, 100 } } },
		{ { { 3000, 0.01 }, { 1, 5 } } },
		{ { { 400, 0.001 }, { 10, 0.05 }, { 2, 0.3 }, { 1, 1 } } },
		{ { { 4, 0.1 }, { 4, 0.5 }, { 4, 1 }, { 4, 3 } } },
		{ { { 50, 0.02 }, { 1, 4 } } },
	};
	uint64_t seed = 42;
	double n = 0, held = 0;

	(void)state;
	for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
		for (int k = 0; k < RUNS; k++) {
			bool is_seen, is = is_held(&sites[i], &seed, &is_seen);

			n += is_seen; /* one that no sample met has no row */
			held += is && is_seen;
		}
	assert_true(n >= 2000);
	if (held / n < 0.935 || held / n > 0.97)
		fail_msg("%g of %g intervals hold the truth", held, n);
}

static void what_is_always_seen_is_exact(void **state)
{
	struct sampled_sum s = { 0 };
	struct interval i;

	(void)state;
	for (int k = 0; k < 3; k++)
		sampled_sum_add(&s, 100 * PERIOD, 1 / -expm1(-100));
	i = sampled_sum_interval(&s);
	assert_true(s.value == 300 * PERIOD && i.low == s.value && i.high == s.value);
}

static void sums_add_up(void **state)
{
	struct sampled_sum a = { 0 }, b = { 0 }, both = { 0 };

	(void)state;
	sampled_sum_add(&a, 4096, 128);
	sampled_sum_add(&b, 65536, 8.5);
	sampled_sum_add(&both, 4096, 128);
	sampled_sum_add(&both, 65536, 8.5);
	sampled_sum_merge(&a, &b, 1);
	assert_int_equal(a.n, both.n);
	assert_true(a.value == both.value && a.variance == both.variance && a.seen == both.seen &&
		a.count == both.count && a.surprise == both.surprise);
}

static void impossible_weights_count_once(void **state)
{
	static const double odd[] = { 0, -5, 0.5, NAN };

	(void)state;
	for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
		struct sampled_sum s = { 0 };

		sampled_sum_add(&s, 1000, odd[k]);
		assert_true(s.value == 1000 && s.count == 1 && s.variance == 0);
	}
}

/* Figures of R: qgamma(p, shape). */
static void quantiles_are_those_of_tables(void **state)
{
	static const struct {
		double p, shape, is;
	} rows[] = { { 0.975, 0.5, 2.511943 }, { 0.025, 1.5, 0.1078977 }, { 0.975, 1.5, 4.674202 },
		{ 0.5, 1, 0.6931472 }, { 0.025, 10, 4.795389 }, { 0.975, 10, 17.08480 },
		{ 0.975, 1000, 1062.933 } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double x = gamma_quantile(rows[i].p, rows[i].shape);

		if (fabs(x / rows[i].is - 1) > 1e-4)
			fail_msg("quantile %g of shape %g: %.7g", rows[i].p, rows[i].shape, x);
	}
	assert_true(gamma_quantile(0.025, 1e-9) == 0 && gamma_quantile(0.5, 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(what_is_always_seen_is_exact),
		cmocka_unit_test(sums_add_up),
		cmocka_unit_test(impossible_weights_count_once),
		cmocka_unit_test(quantiles_are_those_of_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
