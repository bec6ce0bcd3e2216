/* SPDX-License-Identifier: MIT
 * Budgets follow the size of a file and stay exceeded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/budget.h"
#include "base/err.h"

static void follows_the_size_of_the_file(void **state)
{
	struct budget b = budget_for(1000);

	(void)state;
	assert_true(budget_take(&b, BUDGET_LEAST_BYTES + BUDGET_BYTES * 1000));
	assert_false(budget_take(&b, 1));
	b = budget_for(1000);
	assert_true(budget_step(&b, BUDGET_LEAST_STEPS + BUDGET_STEPS * 1000));
	assert_false(budget_step(&b, 1));
}

static void stays_exceeded(void **state)
{
	struct budget b = budget_for(0);

	(void)state;
	assert_false(budget_take(&b, BUDGET_LEAST_BYTES + 1));
	assert_false(budget_take(&b, 0));
	assert_false(budget_step(&b, 0));
	assert_false(budget_is_kept(&b));
}

static void grows_with_a_file_that_does(void **state)
{
	struct budget b = budget_for(0);

	(void)state;
	assert_false(budget_take(&b, BUDGET_LEAST_BYTES + 1));
	budget_grow(&b, 1);
	assert_true(budget_is_kept(&b));
	budget_grow(&b, 0); /* what is known already */
	assert_true(budget_is_kept(&b));
}

static void no_size_overflows_it(void **state)
{
	struct budget b = budget_for(UINT64_MAX);

	(void)state;
	assert_true(b.most_bytes == UINT64_MAX && b.most_steps == UINT64_MAX);
	b = budget_for(UINT64_MAX / BUDGET_BYTES);
	assert_true(b.most_bytes == UINT64_MAX);
}

static void says_in_one_line_what_would_be_too_much(void **state)
{
	struct err e = ERR_INIT;
	struct budget b = budget_for(3000);

	(void)state;
	budget_take(&b, UINT32_MAX);
	assert_int_equal(budget_error(&b, &e), -(int)ERR_BAD_FILE);
	assert_int_equal(err_exit_status(&e), 6);
	assert_non_null(strstr(e.text, "64.7 MiB"));
	assert_non_null(strstr(e.text, "2.93 KiB"));
	b = budget_for(3000);
	budget_step(&b, UINT32_MAX);
	budget_error(&b, &e);
	assert_non_null(strstr(e.text, "16 million"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_the_size_of_the_file),
		cmocka_unit_test(stays_exceeded),
		cmocka_unit_test(grows_with_a_file_that_does),
		cmocka_unit_test(no_size_overflows_it),
		cmocka_unit_test(says_in_one_line_what_would_be_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
