/* SPDX-License-Identifier: MIT */
#include "agent/memory/distance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

static void test_logarithm(void **state)
{
	(void)state;
	for (double x = 0x1p-53; x < 4; x *= 1.37)
		assert_true(fabs(distance_log(x) - log(x)) < 1e-9);
	assert_true(fabs(distance_log(1)) < 1e-12);
}

/* Mean and variance of the exponential distribution, and its share below the mean: to five of their standard errors. */
static void test_distribution(void **state)
{
	enum { N = 1000000, MEAN = 131072 };
	double sum = 0, squares = 0, n_below = 0;
	uint64_t random = 12345;

	(void)state;
	for (int i = 0; i < N; i++) {
		double d = (double)distance_next(&random, MEAN);

		assert_true(d >= 1 && d <= 37.0 * MEAN);
		sum += d / MEAN;
		squares += d / MEAN * (d / MEAN);
		n_below += d < MEAN;
	}
	assert_true(fabs(sum / N - 1) < 5 / sqrt(N));
	assert_true(fabs(squares / N - 2) < 5 * sqrt(20.0 / N));
	assert_true(fabs(n_below / N - (1 - exp(-1))) < 5 * 0.5 / sqrt(N));
}

/* An allocation of z bytes is sampled with p = 1 − e^(−z/R): what the tool weighs samples by. */
static void test_chance_of_a_block(void **state)
{
	static const double parts[] = { 0.01, 0.1, 1, 3 };
	enum { MEAN = 10000, N = 400000 };

	(void)state;
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
		uint64_t random = 99 + k, size = (uint64_t)(parts[k] * MEAN), at = 0, next, n = 0;
		double p = 1 - exp(-parts[k]);

		next = distance_next(&random, MEAN);
		for (int i = 0; i < N; i++) {
			at += size;
			if (at < next)
				continue;
			n++;
			next = at + distance_next(&random, MEAN);
		}
		assert_true(fabs((double)n / N - p) < 5 * sqrt(p * (1 - p) / N) + 1e-4);
	}
}

static void test_a_state_of_zero_does_not_stay(void **state)
{
	uint64_t random = 0, first = distance_next(&random, 1000);

	(void)state;
	assert_true(random != 0);
	assert_true(distance_next(&random, 1000) != first || random != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logarithm),
		cmocka_unit_test(test_distribution),
		cmocka_unit_test(test_chance_of_a_block),
		cmocka_unit_test(test_a_state_of_zero_does_not_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
