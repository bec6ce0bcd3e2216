/* SPDX-License-Identifier: MIT
 * A line being typed, key by key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "view/kit/edit.h"
#include "view/kit/keys.h"

enum {
	BEGIN = 1,
	BACK = 2,
	DELETE = 4,
	END = 5,
	FORTH = 6,
	KILL = 11,
	CLEAR = 12,
	ALL = 21,
	WORD = 23
};

static void complete(void *ctx, const char *line, size_t from, struct buf *words)
{
	static const char *const all[] = { "callees", "callers", "stats", "strip" };

	(void)ctx;
	for (size_t i = 0; i < 4; i++)
		if (strncmp(all[i], line + from, strcspn(line + from, " ")) == 0)
			buf_printf(words, "%s\n", all[i]);
}

static void type(struct edit *e, const char *text)
{
	for (; *text; text++)
		assert_int_equal(edit_key(e, (unsigned char)*text), EDIT_MORE);
}

static void press(struct edit *e, uint32_t key, size_t times)
{
	while (times--)
		edit_key(e, key);
}

static struct edit begin(void)
{
	struct edit e = { .complete = complete };

	edit_begin(&e);
	return e;
}

static void keys_move_and_delete(void **state)
{
	struct edit e = begin();

	(void)state;
	type(&e, "sort cumtime");
	press(&e, KEY_LEFT, 4);
	type(&e, "x");
	assert_string_equal(buf_str(&e.line), "sort cumxtime");
	press(&e, KEY_ERASE, 1);
	press(&e, BEGIN, 1);
	press(&e, DELETE, 1);
	assert_string_equal(buf_str(&e.line), "ort cumtime");
	press(&e, FORTH, 3);
	press(&e, KILL, 1);
	assert_string_equal(buf_str(&e.line), "ort");
	press(&e, END, 1);
	type(&e, " by name");
	press(&e, WORD, 1);
	assert_string_equal(buf_str(&e.line), "ort by ");
	press(&e, ALL, 1);
	assert_string_equal(buf_str(&e.line), "");
	press(&e, KEY_ERASE, 2); /* nothing to delete */
	assert_int_equal(edit_key(&e, DELETE), EDIT_END);
	assert_int_equal(edit_key(&e, KEY_ENTER), EDIT_LINE_DONE);
	assert_int_equal(edit_key(&e, 3), EDIT_CANCEL);
	assert_int_equal(edit_key(&e, CLEAR), EDIT_CLEAR);
	edit_done(&e);
}

static void letters_of_several_bytes_are_one(void **state)
{
	struct edit e = begin();

	(void)state;
	edit_key(&e, 0xfc);
	edit_key(&e, 0x4f60);
	press(&e, KEY_LEFT, 1);
	type(&e, "a");
	assert_string_equal(buf_str(&e.line), "üa你");
	press(&e, KEY_ERASE, 2);
	assert_string_equal(buf_str(&e.line), "你");
	edit_done(&e);
}

static void earlier_lines_come_again(void **state)
{
	struct edit e = begin();

	(void)state;
	edit_remember(&e, "first");
	edit_remember(&e, "second");
	edit_remember(&e, "second");
	edit_remember(&e, "");
	edit_begin(&e);
	type(&e, "new");
	press(&e, KEY_UP, 1);
	assert_string_equal(buf_str(&e.line), "second");
	press(&e, KEY_UP, 5);
	assert_string_equal(buf_str(&e.line), "first");
	press(&e, KEY_DOWN, 2);
	assert_string_equal(buf_str(&e.line), "new");
	edit_done(&e);
}

static void tab_completes_as_far_as_it_is_clear(void **state)
{
	struct edit e = begin();

	(void)state;
	type(&e, "c");
	assert_int_equal(edit_key(&e, '\t'), EDIT_MORE);
	assert_string_equal(buf_str(&e.line), "calle");
	assert_int_equal(edit_key(&e, '\t'), EDIT_CHOICE);
	assert_string_equal(buf_str(&e.choices), "callees\ncallers");
	type(&e, "r");
	edit_key(&e, '\t');
	assert_string_equal(buf_str(&e.line), "callers ");
	type(&e, "z");
	assert_int_equal(edit_key(&e, '\t'), EDIT_MORE);
	assert_string_equal(buf_str(&e.line), "callers z");
	edit_done(&e);
}

static void a_line_that_is_too_wide_is_shown_around_the_cursor(void **state)
{
	struct edit e = begin();
	struct buf out = BUF_INIT;

	(void)state;
	type(&e, "0123456789abcdefghijklmnopqrst");
	edit_draw(&e, "% ", 20, &out);
	assert_string_equal(buf_str(&out), "\r% defghijklmnopqrst\033[K\r\033[19C");
	press(&e, BEGIN, 1);
	buf_clear(&out);
	edit_draw(&e, "% ", 20, &out);
	assert_string_equal(buf_str(&out), "\r% 0123456789abcdefg\033[K\r\033[2C");
	buf_done(&out);
	edit_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_move_and_delete),
		cmocka_unit_test(letters_of_several_bytes_are_one),
		cmocka_unit_test(earlier_lines_come_again),
		cmocka_unit_test(tab_completes_as_far_as_it_is_clear),
		cmocka_unit_test(a_line_that_is_too_wide_is_shown_around_the_cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
