/* SPDX-License-Identifier: MIT
 * middle: of measurements some of which are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/core/median.h"

static void of_few(void **state)
{
	double one[] = { 60 }, two[] = { 60, 50 };

	(void)state;
	assert_true(median_of(NULL, 0).value == 0);
	assert_true(median_of(one, 1).value == 60);
	assert_true(median_of(one, 1).error == 0);
	assert_true(median_of(two, 2).value == 55);
}

/* Rounds during which the CPU slowed down show too much, or too little when it did so in their plain half. */
static void spells_do_not_count(void **state)
{
	double v[] = { 61, 147, 59, 60, 16, 62, 1800, 58, 60 };
	struct median m = median_of(v, 9);

	(void)state;
	assert_true(m.value == 60);
	assert_true(m.error < 0.05);
}

static void strife_is_told(void **state)
{
	double v[] = { 16, 150, 20, 60, 140, 22, 61, 133, 18 };

	(void)state;
	assert_true(median_of(v, 9).error > 0.5);
}

static void more_of_the_same_is_surer(void **state)
{
	double few[] = { 50, 55, 60, 65, 70 }, many[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		many[i] = few[i % 5];
	assert_true(median_of(many, 20).error < 0.6 * median_of(few, 5).error);
}

static void nothing_is_not_divided_by(void **state)
{
	double v[] = { 0, 0, 0, 5 };

	(void)state;
	assert_true(median_of(v, 4).value == 0);
	assert_true(median_of(v, 4).error == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(of_few),
		cmocka_unit_test(spells_do_not_count), cmocka_unit_test(strife_is_told),
		cmocka_unit_test(more_of_the_same_is_surer),
		cmocka_unit_test(nothing_is_not_divided_by) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
