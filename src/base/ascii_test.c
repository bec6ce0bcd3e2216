/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/text.h"

static void assert_becomes(const char *text, const char *lines, const char *cells)
{
	struct buf b = BUF_INIT;

	ascii_add(&b, text, strlen(text));
	assert_string_equal(buf_str(&b), lines);
	buf_clear(&b);
	ascii_add_cells(&b, text, strlen(text));
	assert_string_equal(buf_str(&b), cells);
	buf_done(&b);
}

static void signs_become_letters_that_mean_the_same(void **state)
{
	(void)state;
	assert_becomes("12 µs − 3 × 4 ≥ 5 ± 2 → …", "12 us - 3 x 4 >= 5 +- 2 -> ...",
		"12 us - 3 x 4 > 5 ~ 2 > .");
	assert_becomes("██▌▏", "###|", "###|");
	assert_becomes("⠀⣀⣿", " :@", " :@");
	assert_becomes("größe 漢", "gr\\xf6\\xdfe \\u6f22", "gr??e ??");
	assert_becomes("\xff", "?", "?");
}

static void columns_stay_where_there_is_room(void **state)
{
	(void)state;
	assert_becomes("…er.py:12    3\nx            4\n", "...er.py:12  3\nx            4\n",
		".er.py:12    3\nx            4\n");
	assert_becomes("  ±  x\n±5.8  x\n", "  +- x\n+-5.8 x\n", "  ~  x\n~5.8  x\n");
	assert_becomes("a…  b  c\n", "a... b c\n", "a.  b  c\n");
	assert_becomes("a…\n  b\n", "a...\n  b\n", "a.\n  b\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs_become_letters_that_mean_the_same),
		cmocka_unit_test(columns_stay_where_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
