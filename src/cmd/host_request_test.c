/* SPDX-License-Identifier: MIT
 * Requests of the Python package, well formed and not. */
#include "cmd/host_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/banned.h"

static void lines_are_taken_off_one_by_one(void **state)
{
	struct buf input = BUF_INIT;
	struct err e = ERR_INIT;
	struct host_request q;
	bool found;

	(void)state;
	buf_adds(&input, "{\"do\": \"stop\"}\n{\"do\": \"ask\", \"argv\": [\"report\", \"@\"]}\n{");
	assert_int_equal(host_request_next(&input, &q, &found, &e), 0);
	assert_true(found);
	assert_string_equal(q.what, "stop");
	host_request_done(&q);
	assert_int_equal(host_request_next(&input, &q, &found, &e), 0);
	assert_true(found);
	assert_int_equal(q.n_words, 2);
	assert_string_equal(q.argv[1], "@");
	assert_null(q.argv[2]);
	host_request_done(&q);
	assert_int_equal(host_request_next(&input, &q, &found, &e), 0);
	assert_false(found);
	assert_string_equal(buf_str(&input), "{");
	buf_done(&input);
}

static void values_are_read_and_unknown_keys_skipped(void **state)
{
	static const char line[] =
		"{\"later\": [1, {}], \"do\": \"record\", \"rate\": \"10k\", \"children\": true,"
		" \"regions\": [[5, 7, 42, \"load\"], [18446744073709551615, 0, 1, \"\"]]}";
	struct err e = ERR_INIT;
	struct host_request q;

	(void)state;
	assert_int_equal(host_request_parse(&q, line, strlen(line), &e), 0);
	assert_string_equal(q.rate, "10k");
	assert_true(q.children);
	assert_null(q.path);
	assert_int_equal(q.n_regions, 2);
	assert_int_equal(q.regions[0].duration_ns, 7);
	assert_int_equal(q.regions[0].tid, 42);
	assert_string_equal(q.regions[0].name, "load");
	assert_true(q.regions[1].t_ns == UINT64_MAX);
	host_request_done(&q);
}

static void what_is_no_request_is_refused(void **state)
{
	static const char *const lines[] = { "", "7", "[]", "{\"do\": 7}", "{\"do\": \"x\"",
		"{\"argv\": \"x\"}", "{\"argv\": [1]}", "{\"argv\": [\"a\\u0000b\"]}",
		"{\"children\": 1}", "{\"regions\": [[1, 2, 3]]}",
		"{\"regions\": [[-1, 2, 3, \"x\"]]}", "{\"regions\": [[1, 2, 3, \"x\", 4]]}",
		"{\"regions\": {}}" };

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct err e = ERR_INIT;
		struct host_request q;

		assert_true(host_request_parse(&q, lines[i], strlen(lines[i]), &e) < 0);
		assert_true(*e.text);
		host_request_done(&q);
	}
}

static void a_line_without_end_is_refused(void **state)
{
	struct buf input = BUF_INIT;
	struct err e = ERR_INIT;
	struct host_request q;
	bool found;

	(void)state;
	buf_fill(&input, ' ', HOST_LINE_BYTES + 1);
	assert_true(host_request_next(&input, &q, &found, &e) < 0);
	buf_done(&input);
}

static void answers_carry_their_length(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	host_answer(&out, "two\nlines", 9);
	host_answer_error(&out, 5, "no");
	assert_string_equal(buf_str(&out), "ok 9\ntwo\nlineserror 5 2\nno");
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_taken_off_one_by_one),
		cmocka_unit_test(values_are_read_and_unknown_keys_skipped),
		cmocka_unit_test(what_is_no_request_is_refused),
		cmocka_unit_test(a_line_without_end_is_refused),
		cmocka_unit_test(answers_carry_their_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
