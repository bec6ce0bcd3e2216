/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/units.h"

static void numbers_have_three_digits_and_a_unit(void **state)
{
	static const struct {
		enum unit unit;
		double value;
		const char *text;
	} cases[] = {
		{ UNIT_COUNT, 0, "0" },
		{ UNIT_COUNT, 950, "950" },
		{ UNIT_COUNT, 12345, "12.3 k" },
		{ UNIT_COUNT, 999600, "1.00 M" },
		{ UNIT_COUNT, 0.25, "0.25" },
		{ UNIT_SECONDS, 0, "0 s" },
		{ UNIT_SECONDS, 12e-9, "12 ns" },
		{ UNIT_SECONDS, 5.049e-9, "5.05 ns" },
		{ UNIT_SECONDS, 0.01234, "12.3 ms" },
		{ UNIT_SECONDS, 0.9999, "1.00 s" },
		{ UNIT_SECONDS, 9.999, "10.0 s" },
		{ UNIT_SECONDS, 119, "119 s" },
		{ UNIT_SECONDS, 125.2, "2 min 05 s" },
		{ UNIT_SECONDS, 3660, "1 h 01 min" },
		{ UNIT_BYTES, 950, "950 B" },
		{ UNIT_BYTES, 1536, "1.50 KiB" },
		{ UNIT_BYTES, 1048500, "1.00 MiB" },
		{ UNIT_SHARE, 0.123, "12.3 %" },
		{ UNIT_SHARE, 1, "100 %" },
		{ UNIT_SHARE, 0, "0 %" },
		{ UNIT_RATIO, 1.2345, "1.23" },
		{ UNIT_HERTZ, 1000, "1.00 kHz" },
		{ UNIT_SECONDS, UNITS_UNKNOWN, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[UNITS_TEXT];

		assert_string_equal(
			units_format(text, cases[i].unit, cases[i].value), cases[i].text);
	}
}

static void rates_show_their_sign(void **state)
{
	char text[UNITS_TEXT];

	(void)state;
	assert_string_equal(units_format_rate(text, UNIT_BYTES, 5 << 20), "+5.00 MiB/s");
	assert_string_equal(units_format_rate(text, UNIT_BYTES, -1024), "-1.00 KiB/s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_three_digits_and_a_unit),
		cmocka_unit_test(rates_show_their_sign),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
