/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/text.h"

static void widths(void **state)
{
	(void)state;
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("\xc3\xa9"), 1);                 /* é */
	assert_int_equal(text_width("e\xcc\x81"), 1);                /* e + combining acute */
	assert_int_equal(text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4); /* two ideographs */
	assert_int_equal(text_width("\xf0\x9f\x98\x80"), 2);         /* emoji */
	assert_int_equal(text_width("\xff\xc3"), 2);     /* invalid bytes, one column each */
	assert_int_equal(text_width("\xed\xa0\x80"), 3); /* a surrogate is invalid */
	assert_int_equal(text_width_n("\xe6\xbc\xa2\xe5\xad\x97", 3), 2);
	/* half of one does not fit */
	assert_int_equal(text_fit("a\xe6\xbc\xa2\xe5\xad\x97", 7, 4), 4);
	assert_int_equal(text_fit("\xe6\xbc\xa2", 3, 1), 0);
}

static void ends(void **state)
{
	(void)state;
	assert_true(text_ends_with("train.py", ".py"));
	assert_false(text_ends_with(".py", ".py"));
	assert_false(text_ends_with("train.pyc", ".py"));
	assert_false(text_ends_with("", ".py"));
}

static const char *cut(struct buf *b, const char *s, size_t width, enum text_cut how)
{
	buf_clear(b);
	text_add_cut(b, s, width, how);
	return buf_str(b);
}

static void cutting_keeps_the_informative_end(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(cut(&b, "short", 5, TEXT_CUT_END), "short");
	assert_string_equal(cut(&b, "longer", 5, TEXT_CUT_END), "long\xe2\x80\xa6");
	assert_string_equal(cut(&b, "src/deep/file.py:12", 11, TEXT_CUT_START),
		"\xe2\x80\xa6"
		"file.py:12");
	assert_string_equal(cut(&b, "abcdefghij", 5, TEXT_CUT_MIDDLE), "ab\xe2\x80\xa6ij");
	assert_string_equal(cut(&b, "abc", 0, TEXT_CUT_END), "");
	/* a wide character is never cut in two: a column may stay empty */
	assert_string_equal(
		cut(&b, "\xe6\xbc\xa2\xe5\xad\x97", 3, TEXT_CUT_END), "\xe6\xbc\xa2\xe2\x80\xa6");
	assert_int_equal(
		text_width(cut(&b, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 4, TEXT_CUT_START)), 3);
	buf_done(&b);
}

static void foreign_text_cannot_move_the_cursor(void **state)
{
	struct buf b = BUF_INIT;
	static const char evil[] = "a\x1b[2J\nb\x7f\xc2\x9b\xff\xe2\x80\xae";

	(void)state;
	text_add_printable(&b, evil, sizeof evil - 1);
	assert_string_equal(buf_str(&b), "a\\x1b[2J\\nb\\x7f\\x9b\xef\xbf\xbd\xef\xbf\xbd");
	buf_done(&b);
}

static void what_was_escaped_comes_back(void **state)
{
	static const char *const texts[] = { "plain", "", "a\nb\tc\rd", "\\", "\\\\", "\\n",
		"\\\\n", "a\\", "\\q\\x\\u", "\x1b[31m\x7f", "\xc2\x9b\xe2\x80\xae\xe2\x80\xa8",
		"\xff\xc3(", "semi;colon", "h\xc3\xa9llo \xe6\xbc\xa2", "\\\n", "\\\\\\x41",
		"\xef\xbf\xbd" };
	struct buf line = BUF_INIT, back = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		buf_clear(&line);
		buf_clear(&back);
		text_add_escaped(&line, texts[i], strlen(texts[i]), ";");
		for (size_t k = 0; k < line.n; k++)
			assert_true((unsigned char)line.data[k] >= ' ' && line.data[k] != ';');
		text_add_unescaped(&back, buf_str(&line), line.n);
		assert_string_equal(buf_str(&back), texts[i]);
	}
	buf_clear(&back);
	text_add_unescaped(&back, "\\x4\\u12\\z\\", 10);
	assert_string_equal(buf_str(&back), "\\x4\\u12\\z\\");
	buf_done(&line);
	buf_done(&back);
}

static void commands_are_quoted_for_a_shell(void **state)
{
	char py[] = "python3", c[] = "-c", code[] = "print('a b')", none[] = "";
	char *argv[] = { py, c, code, none, NULL };
	struct buf b = BUF_INIT;

	(void)state;
	text_add_command(&b, argv);
	assert_string_equal(buf_str(&b), "python3 -c 'print('\\''a b'\\'')' ''");
	buf_done(&b);
}

static void distances(void **state)
{
	(void)state;
	assert_int_equal(text_distance("time", "time"), 0);
	assert_int_equal(text_distance("tiem", "time"), 1);
	assert_int_equal(text_distance("tim", "time"), 1);
	assert_int_equal(text_distance("docter", "doctor"), 1);
	assert_int_equal(text_distance("", "abc"), 3);
	assert_int_equal(text_distance("kitten", "sitting"), 3);
}

static void numbers_and_times(void **state)
{
	uint64_t v = 0;

	(void)state;
	assert_true(text_parse_u64("10k", &v));
	assert_int_equal(v, 10000);
	assert_true(text_parse_u64("18446744073709551615", &v));
	assert_false(text_parse_u64("18446744073709551616", &v));
	assert_false(text_parse_u64("-1", &v));
	assert_false(text_parse_u64("1x", &v));
	assert_false(text_parse_u64("", &v));
	assert_true(text_parse_duration_ns("1.5ms", &v));
	assert_int_equal(v, 1500000);
	assert_true(text_parse_duration_ns("2", &v));
	assert_int_equal(v, 2000000000);
	assert_true(text_parse_duration_ns("10m", &v));
	assert_int_equal(v, 600000000000);
	assert_false(text_parse_duration_ns("1 fortnight", &v));
	assert_false(text_parse_duration_ns("nan", &v));
	assert_false(text_parse_duration_ns("1e300", &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths),
		cmocka_unit_test(ends),
		cmocka_unit_test(cutting_keeps_the_informative_end),
		cmocka_unit_test(foreign_text_cannot_move_the_cursor),
		cmocka_unit_test(what_was_escaped_comes_back),
		cmocka_unit_test(commands_are_quoted_for_a_shell),
		cmocka_unit_test(distances),
		cmocka_unit_test(numbers_and_times),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
