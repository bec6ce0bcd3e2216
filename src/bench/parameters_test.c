/* SPDX-License-Identifier: MIT
 * Lists, ranges and their combinations, as hyperfine makes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "bench/axis.h"
#include "bench/parameters.h"
#include "base/banned.h"

static void lists_make_all_combinations_the_first_fastest(void **state)
{
	struct arena a = ARENA_INIT;
	struct parameters p = { 0 };
	struct err e = ERR_INIT;
	static const char *const expected[] = { "1 x,", "2 x,", "1 ", "2 " };

	(void)state;
	assert_int_equal(parameters_combinations(&p), 1);
	assert_int_equal(parameters_add_list(&p, &a, "a", "1,2", &e), 0);
	assert_int_equal(parameters_add_list(&p, &a, "b", "x\\,,", &e), 0);
	assert_int_equal(parameters_combinations(&p), 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(parameters_fill(&a, "{a} {b}", parameters_pick(&p, &a, i), p.n),
			expected[i]);
	assert_true(parameters_add_list(&p, &a, "a", "1", &e) < 0);
	assert_non_null(strstr(e.text, "twice"));
	arena_done(&a);
}

static void ranges_keep_the_decimals_of_the_user(void **state)
{
	struct arena a = ARENA_INIT;
	struct parameters p = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(parameters_add_range(&p, &a, "n", "0.1", "0.3", "0.1", &e), 0);
	assert_int_equal(p.v[0].n, 3);
	assert_string_equal(p.v[0].values[2], "0.3");
	assert_int_equal(parameters_add_range(&p, &a, "m", "-2", "4", "3", &e), 0);
	assert_int_equal(p.v[1].n, 3);
	assert_string_equal(p.v[1].values[0], "-2");
	assert_string_equal(p.v[1].values[2], "4");
	assert_true(parameters_add_range(&p, &a, "x", "3", "1", NULL, &e) < 0);
	assert_true(parameters_add_range(&p, &a, "x", "1", "1e5", NULL, &e) < 0);
	assert_true(parameters_add_range(&p, &a, "x", "1", "2", "0", &e) < 0);
	assert_true(parameters_add_range(&p, &a, "x", "0", "100000", NULL, &e) < 0);
	arena_done(&a);
}

static void only_whole_names_are_replaced(void **state)
{
	struct arena a = ARENA_INIT;
	const struct series_parameter v[] = { { "n", "7" }, { "nn", "8" } };

	(void)state;
	assert_string_equal(parameters_fill(&a, "{n}{nn}{m} {n", v, 2), "78{m} {n");
	assert_null(parameters_fill(&a, NULL, v, 2));
	assert_string_equal(parameters_title(&a, "echo 7", "echo {n}", v, 2), "echo 7 (nn = 8)");
	assert_string_equal(parameters_title(&a, "echo 7", "echo {n}", v, 1), "echo 7");
	arena_done(&a);
}

static void an_axis_is_a_range_or_a_list(void **state)
{
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct axis x;
	static const char *const wrong[] = { "n", "n=", "1n=1..2", "n=2..1", "n=1,x", "n=2,1",
		"=1..2", "n=0..5", "n=1..", "n=5..5" };

	(void)state;
	assert_int_equal(axis_parse(&x, &a, "n=1k..1M", "--scan", &e), 0);
	assert_string_equal(x.name, "n");
	assert_int_equal(x.n, 10);
	assert_int_equal(x.v[0], 1000);
	assert_int_equal(x.v[1], 2200);
	assert_int_equal(x.v[3], 10000);
	assert_int_equal(x.v[9], 1000000);
	assert_int_equal(axis_parse(&x, &a, "size_2=1..4", "--scan", &e), 0);
	assert_int_equal(x.n, 4);
	assert_int_equal(axis_parse(&x, &a, "threads=1,2,4", "--scale", &e), 0);
	assert_int_equal(x.n, 3);
	assert_int_equal(x.v[2], 4);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_true(axis_parse(&x, &a, wrong[i], "--scan", &e) < 0);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_make_all_combinations_the_first_fastest),
		cmocka_unit_test(ranges_keep_the_decimals_of_the_user),
		cmocka_unit_test(only_whole_names_are_replaced),
		cmocka_unit_test(an_axis_is_a_range_or_a_list),
	};

	return cmocka_run_group_tests_name("parameters", tests, NULL, NULL);
}
