/* SPDX-License-Identifier: MIT
 * Stamps between, before and after the instants at which both clocks were read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/agents/tick_map.h"

static struct clock_triple at(uint64_t ticks, uint64_t ns)
{
	return (struct clock_triple){ .ticks = ticks, .monotonic_ns = ns };
}

static void add(struct tick_map *m, uint64_t ticks, uint64_t ns)
{
	struct clock_triple t = at(ticks, ns);

	tick_map_add(m, &t);
}

static void test_lines(void **state)
{
	struct tick_map m = { .mode = CLOCK_MODE_TSC };

	(void)state;
	add(&m, 1000, 50000);
	add(&m, 2000, 50500);
	add(&m, 4000, 51700);
	assert_int_equal(tick_map_ns(&m, 1000), 50000);
	assert_int_equal(tick_map_ns(&m, 1500), 50250);
	assert_int_equal(tick_map_ns(&m, 2000), 50500);
	assert_int_equal(tick_map_ns(&m, 3000), 51100);
	assert_int_equal(tick_map_ns(&m, 4000), 51700);
	assert_int_equal(tick_map_ns(&m, 500), 49750);  /* before */
	assert_int_equal(tick_map_ns(&m, 5000), 52300); /* after */
	tick_map_done(&m);
}

/* What was asked for once stays so when more is known, unless it lay after all that was. */
static void test_stays(void **state)
{
	struct tick_map m = { .mode = CLOCK_MODE_TSC };
	uint64_t before[200];

	(void)state;
	add(&m, 0, 7);
	add(&m, 1000, 345);
	for (uint64_t i = 0; i < 200; i++)
		before[i] = tick_map_ns(&m, i * 5);
	for (uint64_t i = 1; i < 50; i++)
		add(&m, 1000 + i * 997, 345 + i * 331 + i % 3);
	for (uint64_t i = 0; i < 200; i++)
		assert_int_equal(tick_map_ns(&m, i * 5), before[i]);
	for (uint64_t i = 1; i < 40000; i += 7)
		assert_true(tick_map_ns(&m, i) >= tick_map_ns(&m, i - 1));
	tick_map_done(&m);
}

static void test_few(void **state)
{
	struct tick_map m = { .mode = CLOCK_MODE_TSC }, plain = { .mode = CLOCK_MODE_MONOTONIC };

	(void)state;
	assert_int_equal(tick_map_ns(&m, 12), 12);
	add(&m, 100, 100);
	add(&m, 100, 200); /* no line */
	add(&m, 90, 300);
	assert_int_equal(m.knots.n, 1);
	assert_int_equal(tick_map_ns(&m, 12), 12);
	add(&plain, 1, 50);
	add(&plain, 2, 60);
	assert_int_equal(tick_map_ns(&plain, 2), 2);
	tick_map_done(&m);
	tick_map_done(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
