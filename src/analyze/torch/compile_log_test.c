/* SPDX-License-Identifier: MIT
 * What a program says of torch.compile, as it should be and as a broken one might. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/torch/compile_log.h"
#include "base/arena.h"
#include "base/buf.h"

static const struct op_compile_log *told(struct arena *a, const char *text)
{
	struct buf json = BUF_INIT;
	const struct op_compile_log *ret;

	buf_adds(&json, text);
	ret = op_compile_log_read(a, &json);
	buf_done(&json);
	return ret;
}

static void rows_are_read(void **state)
{
	struct arena a = ARENA_INIT;
	const struct op_compile_log *t = told(&a,
		"{\"compilations\": [{\"id\": \"0/0\", \"function\": \"f\", \"file\": \"x.py\", \"line\": 3},"
		" {\"id\": \"0/1\", \"reason\": \"size\", \"more\": [1, {\"id\": \"9\"}]}, {\"function\": \"g\"}],"
		" \"breaks\": [{\"reason\": \"print\", \"line\": 4, \"times\": 2}], \"explained\": []}");

	(void)state;
	assert_int_equal(t->n_frames, 2); /* one has no number */
	assert_string_equal(t->frames[0].function, "f");
	assert_int_equal(t->frames[0].line, 3);
	assert_string_equal(t->frames[0].reason, "");
	assert_string_equal(t->frames[1].id, "0/1");
	assert_string_equal(t->frames[1].reason, "size");
	assert_int_equal(t->n_breaks, 1);
	assert_int_equal(t->breaks[0].n_times, 2);
	assert_int_equal(t->n_explained, 0);
	arena_done(&a);
}

static void nonsense_is_left_out(void **state)
{
	static const char *const texts[] = { "", "[]", "3", "{\"breaks\": 3}",
		"{\"breaks\": [3, [], {}]}", "{\"breaks\": [{\"reason\": 7, \"line\": \"x\"}]}",
		"{\"breaks\": [{\"reason\": \"x" };
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const struct op_compile_log *t = told(&a, texts[i]);

		assert_int_equal(t->n_frames + t->n_breaks + t->n_explained, 0);
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read),
		cmocka_unit_test(nonsense_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
