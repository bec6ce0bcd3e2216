/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/samples/sample_schedule.h"
#include "base/banned.h"

static const uint64_t MS = 1000000;

static void looks_come_at_random_around_the_rate(void **state)
{
	uint64_t before = 1000 * MS, now;
	struct sample_schedule p;

	(void)state;
	sample_schedule_init(&p, 1000, 7);
	p.next_ns = before;
	for (int i = 0; i < 10000; i++, before = now) {
		now = sample_schedule_next(&p, before);
		assert_in_range(now - before, MS / 2, 3 * MS / 2);
	}
	assert_in_range(before - 1000 * MS, 9800 * MS, 10200 * MS);
	assert_int_equal(p.n_missed, 0);
}

static void stamps_are_as_coarse_as_the_rate_allows(void **state)
{
	struct sample_schedule p;

	(void)state;
	sample_schedule_init(&p, 1000, 7);
	assert_int_equal(sample_schedule_stamp(&p, 8192 * 5 + 8191), 8192 * 5);
	sample_schedule_init(&p, 10000, 7);
	assert_int_equal(sample_schedule_stamp(&p, 8192 * 5 + 1023), 8192 * 5);
	assert_int_equal(sample_schedule_stamp(&p, 8192 * 5 + 1024), 8192 * 5 + 1024);
	sample_schedule_init(&p, 0, 7);
	assert_int_equal(sample_schedule_stamp(&p, 12345), 12345);
}

static void looks_that_come_too_late_are_counted_and_not_made(void **state)
{
	struct sample_schedule p;

	(void)state;
	sample_schedule_init(&p, 1000, 7);
	p.next_ns = 1000 * MS;
	assert_in_range(sample_schedule_next(&p, 1100 * MS), 1099 * MS, 1101 * MS + MS / 2);
	assert_in_range(p.n_missed, 98, 100);
}

static void what_costs_too_much_is_done_less_often_and_then_again(void **state)
{
	uint64_t now = 1000 * MS, cpu = 0;
	struct sample_schedule p;

	(void)state;
	sample_schedule_init(&p, 1000, 7);
	assert_true(sample_schedule_is_cap_due(&p, now));
	sample_schedule_keep_below_cap(&p, now, cpu); /* the first only says from where on */
	assert_true(p.stretch == 1);
	assert_false(sample_schedule_is_cap_due(&p, now + 249 * MS));
	assert_true(sample_schedule_is_cap_due(&p, now += 250 * MS));
	sample_schedule_keep_below_cap(&p, now, cpu += 200 * MS);
	assert_true(p.stretch > 1.59 && p.stretch < 1.61);
	for (int i = 0; i < 20; i++)
		sample_schedule_keep_below_cap(&p, now += 250 * MS, cpu += 10 * MS);
	assert_true(p.stretch == 1 && p.stretch_most > 1.59);
	sample_schedule_init(&p, 0, 7);
	assert_false(sample_schedule_is_cap_due(&p, now)); /* asked to cost all */
	assert_in_range(sample_schedule_next(&p, now), now, now + 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_come_at_random_around_the_rate),
		cmocka_unit_test(stamps_are_as_coarse_as_the_rate_allows),
		cmocka_unit_test(looks_that_come_too_late_are_counted_and_not_made),
		cmocka_unit_test(what_costs_too_much_is_done_less_often_and_then_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
