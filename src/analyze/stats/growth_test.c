/* SPDX-License-Identifier: MIT
 * Planted growths, with and without noise, and how often the interval holds the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/growth.h"
#include "base/banned.h"

enum { SIZES = 10 };

/* A draw of the normal distribution (Box and Muller) from a row of its own. */
static double noise(uint64_t *state)
{
	double u[2];

	for (int i = 0; i < 2; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		u[i] = ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
	}
	return sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]);
}

static void plant(struct growth_point *p, double (*time)(double), double sd, uint64_t *state)
{
	for (int i = 0; i < SIZES; i++) {
		p[i].n = round(1000 * pow(10, i / 3.0));
		p[i].seconds = time(p[i].n) * exp(sd * noise(state));
	}
}

static double quadratic(double n)
{
	return 2e-9 * n * n;
}

static double linear(double n)
{
	return 3e-8 * n;
}

static double n_log_n(double n)
{
	return 1e-8 * n * log(n);
}

static double constant(double n)
{
	(void)n;
	return 5e-8;
}

static double with_start(double n)
{
	return 1e-3 + 1e-8 * n;
}

static void an_exact_power_is_found(void **state)
{
	struct growth_point p[SIZES];
	struct growth g;
	uint64_t random = 1;

	(void)state;
	plant(p, quadratic, 0, &random);
	g = growth_of(p, SIZES);
	assert_true(fabs(g.exponent - 2) < 1e-9);
	assert_true(g.interval.low <= 2.000001 && g.interval.high >= 1.999999);
	assert_string_equal(g.closest, "n²");
	assert_false(g.is_bent);
}

static void usual_growths_have_names(void **state)
{
	static const struct {
		double (*time)(double);
		const char *name;
	} rows[] = { { linear, "n" }, { n_log_n, "n log n" }, { quadratic, "n²" },
		{ constant, "a constant" } };
	struct growth_point p[SIZES];
	uint64_t random = 7;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		plant(p, rows[i].time, 0.005, &random);
		assert_string_equal(growth_of(p, SIZES).closest, rows[i].name);
		assert_string_equal(growth_of(p, SIZES).also, "");
	}
}

static void the_interval_holds_the_truth_in_95_of_100(void **state)
{
	uint64_t random = 42;
	int held = 0;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct growth_point p[SIZES];
		struct growth g;

		plant(p, quadratic, 0.1, &random);
		g = growth_of(p, SIZES);
		held += g.interval.low <= 2 && 2 <= g.interval.high;
	}
	assert_in_range(held, 1850, 1950);
}

static void fixed_costs_bend_the_line_and_are_told(void **state)
{
	struct growth_point p[SIZES];
	struct growth g;
	uint64_t random = 3;

	(void)state;
	plant(p, with_start, 0.01, &random);
	g = growth_of(p, SIZES);
	assert_true(g.is_bent);
	assert_true(g.first_exponent < 0.3);
	assert_true(g.exponent > 0.6 && g.exponent < 1.05);
	assert_int_equal(g.first, SIZES / 2);
}

static void few_sizes_give_no_exponent(void **state)
{
	struct growth_point p[] = { { 10, 1 }, { 100, 10 }, { 1000, 100 } };

	(void)state;
	assert_true(isnan(growth_of(p, 3).exponent));
	assert_true(isinf(growth_of(p, 3).interval.high));
	assert_true(fabs(growth_predict(p, 3, 10000) - 1000) < 1e-6);
	assert_true(isnan(growth_predict(p, 1, 10000)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exact_power_is_found),
		cmocka_unit_test(usual_growths_have_names),
		cmocka_unit_test(the_interval_holds_the_truth_in_95_of_100),
		cmocka_unit_test(fixed_costs_bend_the_line_and_are_told),
		cmocka_unit_test(few_sizes_give_no_exponent),
	};

	return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
