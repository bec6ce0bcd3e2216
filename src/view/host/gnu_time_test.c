/* SPDX-License-Identifier: MIT
 * Figures that no program in a test reaches: hours, and what nobody knows. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/units.h"
#include "view/host/gnu_time.h"
#include "base/banned.h"

static void assert_printed(const struct usage *u, const char *format, const char *expected)
{
	struct buf out = BUF_INIT;

	gnu_time_print(u, format, true, &out);
	assert_string_equal(buf_str(&out), expected);
	buf_done(&out);
}

static void elapsed_time_has_hours_from_the_first_on(void **state)
{
	struct usage u = { .wall_s = 3599.999 };

	(void)state;
	assert_printed(&u, "%E %e", "59:59.99 3599.99\n");
	u.wall_s = 3600;
	assert_printed(&u, "%E", "1:00:00\n");
	u.wall_s = 36 * 3600 + 5 * 60 + 7.5;
	assert_printed(&u, "%E", "36:05:07\n");
}

static void seconds_are_cut_and_not_rounded(void **state)
{
	struct usage u = { .wall_s = 1, .user_s = 0.29, .system_s = 0.0199 };

	(void)state;
	assert_printed(&u, "%U %S %P", "0.29 0.01 30%\n");
}

static void the_unknown_is_a_question_mark(void **state)
{
	struct usage u = { .user_s = UNITS_UNKNOWN,
		.max_rss_bytes = UNITS_UNKNOWN,
		.read_bytes = UNITS_UNKNOWN,
		.status = -1 };

	(void)state;
	assert_printed(&u, "%U %P %M %I %x %C", "? ?% ? ? ? \n");
}

static void formats_may_end_anywhere(void **state)
{
	struct usage u = { 0 };

	(void)state;
	assert_printed(&u, "", "\n");
	assert_printed(&u, "%", "?\n");
	assert_printed(&u, "a\\", "a?\\\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elapsed_time_has_hours_from_the_first_on),
		cmocka_unit_test(seconds_are_cut_and_not_rounded),
		cmocka_unit_test(the_unknown_is_a_question_mark),
		cmocka_unit_test(formats_may_end_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
