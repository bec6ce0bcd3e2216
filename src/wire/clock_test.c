/* SPDX-License-Identifier: MIT
 * clock: conversions with known answers, at the ends of the number range, and against the real
 * clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/clock.h"

static void ticks_convert_between_triples(void **state)
{
	/* 3 GHz from 1 s to 2 s, seen from a realtime of 1 000 000 s on. */
	const struct clock_triple a = { 9000000000u, 1000000000u, 1000000000000000u };
	const struct clock_triple b = { 12000000000u, 2000000000u, 1000001000000000u };

	(void)state;
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &b, a.ticks), 1000000000u);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &b, b.ticks), 2000000000u);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &b, 10500000000u), 1500000000u);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &b, 9000000003u), 1000000001u);
	/* Before and after the two. */
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &b, 7500000000u), 500000000u);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &b, 15000000000u), 3000000000u);
	assert_int_equal(clock_realtime_to_monotonic_ns(&a, &b, 1000000250000000u), 1250000000u);
	/* A monotonic stamp is its own answer. */
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_MONOTONIC, &a, &b, 77), 77);
}

static void conversion_does_not_overflow(void **state)
{
	const struct clock_triple a = { 1, 1, 1 };
	const struct clock_triple far = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	const struct clock_triple slow = { 11, 1000000001, 1 }; /* 10 ticks a second */
	const uint64_t year_ns = 31557600000000000u;
	const struct clock_triple start = { 1ull << 62, year_ns, 0 };
	const struct clock_triple later = { (1ull << 62) + 3 * year_ns, 2 * year_ns, 0 };

	(void)state;
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &far, UINT64_MAX), UINT64_MAX);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &far, 12345678), 12345678);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &slow, UINT64_MAX), UINT64_MAX);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &slow, &far, 0), 1000000001 - 10);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &far, &far, 0), 0);
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &start, &later, 0), 0);
	assert_int_equal(
		clock_to_monotonic_ns(CLOCK_MODE_TSC, &start, &later, start.ticks + year_ns),
		year_ns + year_ns / 3);
	/* Two equal triples, or a clock set back: no division by zero, one rate. */
	assert_int_equal(clock_to_monotonic_ns(CLOCK_MODE_TSC, &slow, &slow, 16), 1000000006);
	assert_int_equal(clock_realtime_to_monotonic_ns(&later, &a, 5), 2 * year_ns + 5);
}

static void conversion_keeps_the_order(void **state)
{
	const struct clock_triple a = { 1000, 500, 0 }, b = { 3601234, 1000500, 0 };
	uint64_t last = 0;

	(void)state;
	for (uint64_t t = 0; t < 5000000; t += 7) {
		uint64_t now = clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &b, t);

		assert_true(now >= last);
		last = now;
	}
}

static void spin_ns(uint64_t ns)
{
	uint64_t end = clock_monotonic_ns() + ns;

	while (clock_monotonic_ns() < end)
		;
}

static void stamps_agree_with_the_system_clock(void **state)
{
	uint64_t before_ns, stamp, after_ns, ns, best = UINT64_MAX;
	struct clock_triple a, b;

	(void)state;
	if (!clock_has_steady_ticks())
		skip();
	clock_triple_take(&a);
	spin_ns(5000000);
	/* The best of some: an interrupt between the readings is not the clock's fault. */
	for (int i = 0; i < 50; i++) {
		struct clock_triple end;

		before_ns = clock_monotonic_ns();
		stamp = clock_read(CLOCK_MODE_TSC);
		after_ns = clock_monotonic_ns();
		spin_ns(100000);
		clock_triple_take(&end);
		ns = clock_to_monotonic_ns(CLOCK_MODE_TSC, &a, &end, stamp);
		ns = ns < before_ns ? before_ns - ns : ns > after_ns ? ns - after_ns : 0;
		best = ns < best ? ns : best;
	}
	assert_true(best < 2000); /* ns outside the two readings around it */
	spin_ns(5000000);
	clock_triple_take(&b);
	assert_true(b.ticks > a.ticks && b.monotonic_ns >= a.monotonic_ns + 10000000);
	before_ns = clock_monotonic_ns();
	ns = clock_realtime_to_monotonic_ns(&a, &b, clock_get_ns(CLOCK_REALTIME));
	assert_true(ns + 100000000 > before_ns && ns < before_ns + 100000000);
}

static void monotonic_mode_reads_the_system_clock(void **state)
{
	uint64_t before_ns = clock_monotonic_ns(), ns = clock_read(CLOCK_MODE_MONOTONIC);

	(void)state;
	assert_true(ns >= before_ns && ns <= clock_monotonic_ns());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_convert_between_triples),
		cmocka_unit_test(conversion_does_not_overflow),
		cmocka_unit_test(conversion_keeps_the_order),
		cmocka_unit_test(stamps_agree_with_the_system_clock),
		cmocka_unit_test(monotonic_mode_reads_the_system_clock),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
