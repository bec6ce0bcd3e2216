/* SPDX-License-Identifier: MIT
 * Which commands keep the agent out, and how that is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collect/agents/untraced.h"

#define WORDS(text) text, sizeof text

static void options_that_keep_the_agent_out_are_seen(void **state)
{
	(void)state;
	assert_true(untraced_is_isolated(WORDS("python3\0-I\0x.py")));
	assert_true(untraced_is_isolated(WORDS("python3\0-uE\0x.py")));
	assert_true(untraced_is_isolated(WORDS("python3\0-X\0dev\0-S\0-m\0x")));
	assert_true(untraced_is_isolated(WORDS("python3\0-Wignore\0-I\0-c\0pass")));
}

static void options_of_the_program_are_its_own(void **state)
{
	(void)state;
	assert_false(untraced_is_isolated(WORDS("python3\0x.py\0-I")));
	assert_false(untraced_is_isolated(WORDS("python3\0-c\0-I")));
	assert_false(untraced_is_isolated(WORDS("python3\0-m\0x\0-E")));
	assert_false(untraced_is_isolated(WORDS("python3\0-W\0-I\0x.py")));
	assert_false(untraced_is_isolated(WORDS("python3\0-XI\0x.py")));
	assert_false(untraced_is_isolated(WORDS("python3")));
	assert_false(untraced_is_isolated("python3\0-X", sizeof "python3\0-X" - 1));
	assert_false(untraced_is_isolated("", 0));
}

static void three_are_named(void **state)
{
	struct untraced u = { .n = 5,
		.first = { { 7, "python3.8" }, { 8, "python" }, { 9, "python3" } } };
	struct buf out = BUF_INIT;

	(void)state;
	untraced_tell(&u, &out);
	assert_non_null(strstr(
		buf_str(&out), "processes 7 (python3.8), 8 (python), 9 (python3) and 2 more kept"));
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_that_keep_the_agent_out_are_seen),
		cmocka_unit_test(options_of_the_program_are_its_own),
		cmocka_unit_test(three_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
