/* SPDX-License-Identifier: MIT
 * The shift against figures of R, and how often stored results and steps of equal programs are called different. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/stats/distribution.h"
#include "analyze/stats/series.h"
#include "analyze/stats/unpaired.h"
#include "base/arena.h"
#include "base/banned.h"

#define near(a, b, within) assert_true(fabs((a) - (b)) <= (within))

static const struct verdict_options plain = { .equivalence = 0.01, .gate = NAN };

static double noise(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*state >> 11) / 9007199254740992.0;
	}
	return sum;
}

static void the_shift_is_the_one_of_mann_and_whitney(void **state)
{
	/* Hollander and Wolfe's permeability of membranes; R: wilcox.test(b, a, conf.int = TRUE, exact = TRUE) */
	double b[] = { 0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46 };
	double a[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };
	struct centre c = distribution_shift(a, 5, b, 10, 0.05);

	(void)state;
	near(c.estimate, 0.305, 1e-9);
	near(c.interval.low, -0.15, 0.011);
	near(c.interval.high, 0.76, 0.011);
	/* Two against two say nothing at all. */
	assert_true(isinf(distribution_shift(a, 2, b, 2, 0.05).interval.high));
}

struct planted {
	struct series_value values[10];
	struct series_process processes[10];
	struct series series;
};

static void plant(struct planted *to, double level, double sd, uint64_t *random)
{
	for (int i = 0; i < 10; i++) {
		to->values[i] = (struct series_value){ .seconds = level * exp(sd * noise(random)) };
		to->processes[i] =
			(struct series_process){ .v = &to->values[i], .n = 1, .loops = 1 };
	}
	to->series = (struct series){ .name = "x", .processes = to->processes, .n = 10 };
}

static void equal_results_are_seldom_called_different(void **state)
{
	uint64_t random = 3;
	int wrong = 0, found = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct arena arena = ARENA_INIT;
		struct planted a, b, slower;
		enum verdict_word word;

		plant(&a, 1, 0.02, &random);
		plant(&b, 1, 0.02, &random);
		plant(&slower, 1.05, 0.02, &random);
		word = unpaired_series(&arena, &a.series, &b.series, &plain, false).word;
		wrong += word == VERDICT_FASTER || word == VERDICT_SLOWER;
		found += unpaired_series(&arena, &a.series, &slower.series, &plain, false).word ==
			VERDICT_SLOWER;
		arena_done(&arena);
	}
	assert_in_range(wrong, 10, 60);
	assert_in_range(found, 950, 1000);
}

static void unlike_conditions_leave_it_undecided(void **state)
{
	struct verdict_options gate = { .equivalence = 0.01, .gate = 0.03 };
	struct arena arena = ARENA_INIT;
	struct planted a, b;
	struct unpaired u;
	uint64_t random = 3;

	(void)state;
	plant(&a, 1, 0.02, &random);
	plant(&b, 2, 0.02, &random);
	u = unpaired_series(&arena, &a.series, &b.series, &gate, true);
	assert_int_equal(u.word, VERDICT_UNDECIDED);
	assert_int_equal(u.gate, VERDICT_GATE_UNDECIDED);
	assert_true(u.ratio > 1.9 && u.ratio < 2.1);
	u = unpaired_series(&arena, &a.series, &b.series, &gate, false);
	assert_int_equal(u.word, VERDICT_SLOWER);
	assert_int_equal(u.gate, VERDICT_FAILED);
	arena_done(&arena);
}

/* Steps that depend on the one before (r = 0.8), as a machine that warms and cools makes them. */
static void steps_of_one_program_are_seldom_called_different(void **state)
{
	enum { STEPS = 300 };
	static double runs[2][STEPS];
	uint64_t random = 9;
	int wrong = 0, found = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		enum verdict_word word;

		for (int side = 0; side < 2; side++) {
			double level = 0;

			for (int k = 0; k < STEPS; k++) {
				level = 0.8 * level + 0.01 * noise(&random);
				runs[side][k] = 0.1 * exp(level);
			}
		}
		word = unpaired_steps(runs[0], STEPS, runs[1], STEPS, &plain, false).word;
		wrong += word == VERDICT_FASTER || word == VERDICT_SLOWER;
		for (int k = 0; k < STEPS; k++)
			runs[1][k] *= 1.05;
		found += unpaired_steps(runs[0], STEPS, runs[1], STEPS, &plain, false).word ==
			VERDICT_SLOWER;
	}
	assert_in_range(wrong, 0, 5);
	assert_in_range(found, 36, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shift_is_the_one_of_mann_and_whitney),
		cmocka_unit_test(equal_results_are_seldom_called_different),
		cmocka_unit_test(unlike_conditions_leave_it_undecided),
		cmocka_unit_test(steps_of_one_program_are_seldom_called_different),
	};

	return cmocka_run_group_tests_name("unpaired", tests, NULL, NULL);
}
