/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/samples/cost.h"
#include "base/banned.h"

enum { LOOKS = 160, EVERY = 16, BESIDES = 3 };

static void test_what_stands_still_costs_nothing(void **state)
{
	unsigned char image[1000] = { 1, 2, 3 };
	struct py_cost c = { 0 };

	(void)state;
	for (int i = 0; i < LOOKS; i++)
		py_cost_look(&c, 7, image, sizeof image);
	assert_int_equal(c.n_lines, 0);
	py_cost_done(&c);
}

static void test_lines_written_between_two_looks_count(void **state)
{
	unsigned char image[1000] = { 0 };
	struct py_cost c = { 0 };

	(void)state;
	for (int i = 0; i < LOOKS; i++) {
		image[0]++; /* two lines, the last of them not whole */
		image[63]++;
		image[999]++;
		py_cost_look(&c, 7, image, sizeof image);
	}
	assert_int_equal(c.n_lines, LOOKS * (2 + BESIDES));
	py_cost_done(&c);
}

static void test_only_what_both_looks_copied_is_compared(void **state)
{
	unsigned char image[1000] = { 0 };
	struct py_cost c = { 0 };

	(void)state;
	for (int i = 0; i < LOOKS; i++) {
		image[700]++;
		py_cost_look(&c, 7, image, i % 2 ? 640 : 1000);
	}
	assert_int_equal(c.n_lines, 0);
	for (int i = 0; i < LOOKS; i++) { /* elsewhere each time */
		image[0]++;
		py_cost_look(&c, (uint64_t)i, image, sizeof image);
	}
	assert_int_equal(c.n_lines, 0);
	py_cost_look(&c, 7, image, 0);
	py_cost_look(&c, 7, image, 0);
	assert_int_equal(c.n_lines, 0);
	py_cost_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_stands_still_costs_nothing),
		cmocka_unit_test(test_lines_written_between_two_looks_count),
		cmocka_unit_test(test_only_what_both_looks_copied_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
