/* SPDX-License-Identifier: MIT
 * Planted laws: what was put in comes out, and the intervals hold it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/stats/scaling.h"
#include "base/banned.h"

#define near(a, b, within) assert_true(fabs((a) - (b)) <= (within))

enum { PROCESSES = 5, POINTS = 5 };

static const unsigned threads[POINTS] = { 1, 2, 4, 8, 16 };

struct planted {
	double seconds[POINTS][PROCESSES];
	struct scaling_point p[POINTS];
};

static double noise(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*state >> 11) / 9007199254740992.0;
	}
	return sum;
}

static void plant(struct planted *to, double serial, double contention, double sd, uint64_t *random)
{
	for (int i = 0; i < POINTS; i++) {
		double n = threads[i];
		double speedup = n / (1 + serial * (n - 1) + contention * n * (n - 1));

		for (int k = 0; k < PROCESSES; k++)
			to->seconds[i][k] = 1e-6 / speedup * exp(sd * noise(random));
		to->p[i] = (struct scaling_point){ threads[i], to->seconds[i], PROCESSES };
	}
}

static void planted_shares_are_found(void **state)
{
	static const double rows[][2] = { { 0, 0 }, { 0.05, 0 }, { 0.3, 0.01 }, { 0, 0.02 },
		{ 1, 0 } };
	uint64_t random = 5;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct planted t;
		struct scaling s;

		plant(&t, rows[i][0], rows[i][1], 0, &random);
		s = scaling_of(t.p, POINTS, 64);
		assert_true(s.is_known && s.has_contention);
		near(s.serial, rows[i][0], 1e-9);
		near(s.contention, rows[i][1], 1e-9);
	}
}

static void where_more_threads_make_it_slower(void **state)
{
	struct planted t;
	struct scaling s;
	uint64_t random = 5;

	(void)state;
	plant(&t, 0.19, 0.01, 0, &random);
	s = scaling_of(t.p, POINTS, 64);
	near(s.most_threads, 9, 1e-6);
	near(s.most_speedup, 9 / (1 + 0.19 * 8 + 0.01 * 72), 1e-6);
	plant(&t, 0.25, 0, 0, &random);
	s = scaling_of(t.p, POINTS, 64);
	near(s.most_speedup, 4, 1e-6);
}

static void intervals_hold_the_truth(void **state)
{
	uint64_t random = 11;
	int held = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct planted t;
		struct scaling s;

		plant(&t, 0.2, 0, 0.02, &random);
		s = scaling_of(t.p, 2, 64); /* one and two threads: Amdahl alone */
		assert_false(s.has_contention);
		held += s.serial_interval.low <= 0.2 && 0.2 <= s.serial_interval.high;
	}
	assert_in_range(held, 180, 200);
}

static void more_threads_than_cpus_take_no_part(void **state)
{
	struct planted t;
	struct scaling s;
	uint64_t random = 5;

	(void)state;
	plant(&t, 0.1, 0, 0, &random);
	for (int k = 0; k < PROCESSES; k++)
		t.seconds[2][k] = t.seconds[3][k] = 1; /* nonsense beyond two CPUs */
	s = scaling_of(t.p, POINTS, 2);
	assert_true(s.is_known && !s.has_contention);
	near(s.serial, 0.1, 1e-9);
	near(scaling_speedup(t.p, 1), 2 / 1.1, 1e-9);
	assert_false(scaling_of(t.p + 1, 2, 64).is_known); /* without one thread */
	assert_false(scaling_of(t.p, POINTS, 1).is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planted_shares_are_found),
		cmocka_unit_test(where_more_threads_make_it_slower),
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(more_threads_than_cpus_take_no_part),
	};

	return cmocka_run_group_tests_name("scaling", tests, NULL, NULL);
}
