/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "base/tty.h"

static void columns_are_those_asked_for_then_the_terminals_then_none(void **state)
{
	static const struct {
		const char *columns;
		bool is_terminal;
		unsigned told;
		size_t expected;
	} cases[] = {
		{ NULL, false, 0, TEXT_UNBOUNDED },
		{ "", false, 0, TEXT_UNBOUNDED },
		{ "0", false, 0, TEXT_UNBOUNDED },
		{ "wide", false, 0, TEXT_UNBOUNDED },
		{ "-3", false, 0, TEXT_UNBOUNDED },
		{ "100", false, 0, 100 },
		{ "3", false, 0, 3 },
		{ "1000", false, 0, 1000 },
		{ NULL, true, 132, 132 },
		{ NULL, true, 4000, TTY_COLUMNS_MOST },
		{ NULL, true, 0, TTY_COLUMNS_USUAL },
		{ NULL, true, 5, 5 },
		{ "60", true, 132, 60 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(
			tty_columns_of(cases[i].columns, cases[i].is_terminal, cases[i].told),
			cases[i].expected);
}

static void locales_are_read_as_libc_does(void **state)
{
	(void)state;
	assert_true(tty_is_utf8_of(NULL, NULL, "C.UTF-8"));
	assert_true(tty_is_utf8_of("", "", "de_DE.utf8"));
	assert_true(tty_is_utf8_of(NULL, "en_US.UTF-8", "C"));
	assert_false(tty_is_utf8_of("C", "en_US.UTF-8", "en_US.UTF-8"));
	assert_false(tty_is_utf8_of(NULL, "POSIX", NULL));
	assert_false(tty_is_utf8_of(NULL, NULL, "de_DE.ISO-8859-1"));
	assert_true(tty_is_utf8_of(NULL, NULL, NULL));
	assert_true(tty_is_utf8_of("", NULL, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_those_asked_for_then_the_terminals_then_none),
		cmocka_unit_test(locales_are_read_as_libc_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
