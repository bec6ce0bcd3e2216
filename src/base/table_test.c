/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/table.h"

static const struct table_column columns[] = {
	{ .title = "self", .align = TABLE_RIGHT },
	{ .title = "function", .cut = TEXT_CUT_END, .min_width = 5 },
	{ .title = "where", .cut = TEXT_CUT_START, .min_width = 7 },
};

static struct table *functions(void)
{
	struct table *t = table_new(columns, 3);

	table_cell_unit(t, UNIT_SECONDS, 1.234);
	table_cell(t, "%s", "matmul");
	table_cell(t, "%s:%d", "lib/net.py", 12);
	table_cell_unit(t, UNIT_SECONDS, UNITS_UNKNOWN);
	table_cell(t, "%s", "a_long_function_name");
	table_cell(t, "%s:%d", "x.py", 7);
	return t;
}

/* Emits at a width, frees nothing. */
static const char *at(struct buf *b, const struct table *t, size_t width)
{
	buf_clear(b);
	table_emit(t, b, width, false);
	return buf_str(b);
}

static void a_very_long_cell_is_whole_and_pads_no_other_row(void **state)
{
	static const struct table_column two[] = {
		{ .title = "function", .cut = TEXT_CUT_END, .min_width = 12 },
		{ .title = "self", .align = TABLE_RIGHT },
	};
	struct table *t = table_new(two, 2);
	struct buf b = BUF_INIT, name = BUF_INIT;

	(void)state;
	buf_fill(&name, 'x', 5000);
	table_cell(t, "%s", buf_str(&name));
	table_cell(t, "1 s");
	table_cell(t, "short");
	table_cell(t, "2 s");
	at(&b, t, TEXT_UNBOUNDED);
	assert_non_null(strstr(buf_str(&b), buf_str(&name)));
	assert_true(b.n < 5000 + 2 * 200);
	assert_int_equal(text_width_n(strstr(at(&b, t, 80), "xxx"), 70), 70);
	assert_null(strstr(buf_str(&b), buf_str(&name)));
	table_free(t);
	buf_done(&b);
	buf_done(&name);
}

static void columns_that_may_go_do_so_in_their_order(void **state)
{
	static const struct table_column three[] = {
		{ .title = "a", .gives_way = 2 },
		{ .title = "b" },
		{ .title = "c", .gives_way = 1 },
	};
	struct table *t = table_new(three, 3);
	struct buf b = BUF_INIT;

	(void)state;
	table_cell(t, "aaaa");
	table_cell(t, "bbbb");
	table_cell(t, "cccc");
	assert_string_equal(at(&b, t, 16), "a     b     c\naaaa  bbbb  cccc\n");
	assert_string_equal(at(&b, t, 15), "a     b\naaaa  bbbb\n");
	assert_string_equal(at(&b, t, 9), "b\nbbbb\n");
	assert_string_equal(at(&b, t, 2), "b\nbbbb\n");
	table_free(t);
	buf_done(&b);
}

static void columns_are_aligned_without_trailing_blanks(void **state)
{
	struct table *t = functions();
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(at(&b, t, SIZE_MAX),
		"  self  function              where\n"
		"1.23 s  matmul                lib/net.py:12\n"
		"     –  a_long_function_name  x.py:7\n");
	assert_string_equal(at(&b, t, 43), at(&b, t, SIZE_MAX));
	assert_int_equal(table_n_rows(t), 2);
	table_free(t);
	table_free(NULL);
	buf_done(&b);
}

static void the_widest_column_gives_way_first(void **state)
{
	struct table *t = functions();
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(at(&b, t, 42),
		"  self  function             where\n"
		"1.23 s  matmul               lib/net.py:12\n"
		"     –  a_long_function_na…  x.py:7\n");
	/* both shrink: 10 columns for two cells of 20 and 13 */
	assert_string_equal(at(&b, t, 30),
		"  self  function    where\n"
		"1.23 s  matmul      …net.py:12\n"
		"     –  a_long_fu…  x.py:7\n");
	/* an odd column goes to the left one */
	assert_string_equal(at(&b, t, 29),
		"  self  function    where\n"
		"1.23 s  matmul      …et.py:12\n"
		"     –  a_long_fu…  x.py:7\n");
	table_free(t);
	buf_done(&b);
}

static void too_narrow_keeps_the_least_widths(void **state)
{
	static const char least[] = "  self  func…  where\n"
				    "1.23 s  matm…  ….py:12\n"
				    "     –  a_lo…  x.py:7\n";
	struct table *t = functions();
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(at(&b, t, 22), least);
	for (size_t width = 0; width < 22; width++)
		assert_string_equal(at(&b, t, width), least);
	for (size_t width = 22; width < 60; width++) {
		char *line = b.data;

		at(&b, t, width);
		for (line = b.data; *line; line += strlen(line) + 1) {
			*strchr(line, '\n') = '\0';
			assert_true(text_width(line) <= width);
		}
	}
	table_free(t);
	buf_done(&b);
}

static void a_narrow_cell_does_not_grow_to_min_width(void **state)
{
	static const struct table_column two[] = {
		{ .title = "a", .min_width = 10 },
		{ .title = "b", .min_width = 3 },
	};
	struct table *t = table_new(two, 2);
	struct buf b = BUF_INIT;

	(void)state;
	table_cell(t, "xy");
	table_cell(t, "0123456789");
	assert_string_equal(at(&b, t, 8), "a   b\nxy  012…\n");
	table_free(t);
	buf_done(&b);
}

static void titles_lose_their_end(void **state)
{
	static const struct table_column one[] = {
		{ .title = "where it is", .cut = TEXT_CUT_START, .min_width = 4 },
	};
	struct table *t = table_new(one, 1);
	struct buf b = BUF_INIT;

	(void)state;
	table_cell(t, "dir/file.py");
	assert_string_equal(at(&b, t, 8), "where i…\n…file.py\n");
	table_free(t);
	buf_done(&b);
}

static void header_is_bold_with_colour(void **state)
{
	static const struct table_column two[] = { { .title = "name" },
		{ .title = "n", .align = TABLE_RIGHT } };
	struct table *t = table_new(two, 2);
	struct buf b = BUF_INIT;

	(void)state;
	table_emit(t, &b, 80, true);
	assert_string_equal(buf_str(&b), "\x1b[1mname  n\x1b[0m\n");
	table_cell(t, "x");
	table_cell_unit(t, UNIT_COUNT, 12345);
	buf_clear(&b);
	table_emit(t, &b, 80, true);
	assert_string_equal(buf_str(&b), "\x1b[1mname       n\x1b[0m\nx     12.3 k\n");
	table_free(t);
	buf_done(&b);
}

static void without_titles_there_is_no_header(void **state)
{
	static const struct table_column two[] = { { .title = NULL }, { .title = "" } };
	struct table *t = table_new(two, 2);
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(at(&b, t, 80), "");
	table_cell(t, "python");
	table_cell(t, "3.13");
	table_cell(t, "os"); /* the row is not full */
	assert_string_equal(at(&b, t, 80), "python  3.13\nos\n");
	assert_int_equal(table_n_rows(t), 2);
	table_free(t);
	buf_done(&b);
}

static void wide_characters_take_two_columns(void **state)
{
	static const struct table_column two[] = {
		{ .title = "name", .min_width = 3 },
		{ .title = "n", .align = TABLE_RIGHT },
	};
	struct table *t = table_new(two, 2);
	struct buf b = BUF_INIT;

	(void)state;
	table_cell(t, "漢字漢字"); /* 8 columns */
	table_cell(t, "1");
	table_cell(t, "e\xcc\x81t\xc3\xa9"); /* 3 columns, one combining */
	table_cell(t, "22");
	assert_string_equal(at(&b, t, 80), "name       n\n漢字漢字   1\ne\xcc\x81té       22\n");
	/* 6 columns: two ideographs, the mark, and one column that no half of one can fill */
	assert_string_equal(at(&b, t, 10), "name     n\n漢字…    1\ne\xcc\x81té     22\n");
	table_free(t);
	buf_done(&b);
}

static void foreign_names_are_made_printable(void **state)
{
	static const struct table_column one[] = { { .title = "a\nb" } };
	struct table *t = table_new(one, 1);
	struct buf b = BUF_INIT;

	(void)state;
	table_cell(t, "%s", "x\x1b[2J\n\xff");
	table_cell(t, "%s", "blanks   ");
	assert_string_equal(at(&b, t, 80), "a\\nb\nx\\x1b[2J\\n\xef\xbf\xbd\nblanks\n");
	table_free(t);
	buf_done(&b);
}

static void many_rows_and_long_cells(void **state)
{
	struct table *t = table_new(columns, 3);
	struct buf b = BUF_INIT, name = BUF_INIT;

	(void)state;
	buf_fill(&name, 'x', 100000);
	for (int i = 0; i < 1000; i++) {
		table_cell(t, "%d", i);
		table_cell(t, "f%d", i);
		table_cell(t, "%s", i == 500 ? buf_str(&name) : "short");
	}
	assert_int_equal(table_n_rows(t), 1000);
	at(&b, t, 40);
	assert_non_null(strstr(buf_str(&b), "\n 499  f499      short\n"));
	assert_non_null(strstr(buf_str(&b), "\n 500  f500      …xxxxxxxxxxxxxxxxxxxxxxx\n"));
	table_free(t);
	buf_done(&b);
	buf_done(&name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_very_long_cell_is_whole_and_pads_no_other_row),
		cmocka_unit_test(columns_that_may_go_do_so_in_their_order),
		cmocka_unit_test(columns_are_aligned_without_trailing_blanks),
		cmocka_unit_test(the_widest_column_gives_way_first),
		cmocka_unit_test(too_narrow_keeps_the_least_widths),
		cmocka_unit_test(a_narrow_cell_does_not_grow_to_min_width),
		cmocka_unit_test(titles_lose_their_end),
		cmocka_unit_test(header_is_bold_with_colour),
		cmocka_unit_test(without_titles_there_is_no_header),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(foreign_names_are_made_printable),
		cmocka_unit_test(many_rows_and_long_cells),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
