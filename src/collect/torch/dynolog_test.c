/* SPDX-License-Identifier: MIT
 * What a dynolog is asked, and what it answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/torch/dynolog.h"

static void the_question_is_json(void **state)
{
	struct buf config = BUF_INIT, out = BUF_INIT;
	const pid_t pids[] = { 17, 4711 };

	(void)state;
	buf_adds(&config, "ACTIVITIES_LOG_FILE=/tmp/a \"b\".json\nACTIVITIES_ITERATIONS=3\n");
	dynolog_question(&out,
		&(struct dynolog_wish){ .config = &config, .job = 99, .pids = pids, .n_pids = 2 });
	assert_string_equal(buf_str(&out),
		"{\"fn\":\"setKinetOnDemandRequest\",\"config\":\"ACTIVITIES_LOG_FILE=/tmp/a "
		"\\\"b\\\".json\\nACTIVITIES_ITERATIONS=3\\n\",\"job_id\":99,\"pids\":[17,4711],\"process_limit\":4096}");
	buf_done(&config);
	buf_done(&out);
}

static int parse(const char *text, struct dynolog_answer *ret)
{
	struct err e = ERR_INIT;

	return dynolog_parse(text, strlen(text), ret, &e);
}

static void an_answer_names_who_was_told(void **state)
{
	struct dynolog_answer a;

	(void)state;
	assert_int_equal(
		parse("{\"activityProfilersBusy\":1,\"activityProfilersTriggered\":[7,8],\"eventProfilersTriggered\":[],\"processesMatched\":[7,8,9]}",
			&a),
		0);
	assert_int_equal(a.told.n, 2);
	assert_int_equal(a.told.v[1], 8);
	assert_int_equal(a.n_known, 3);
	dynolog_done(&a);
}

static void what_is_no_answer_is_refused(void **state)
{
	static const char *const texts[] = { "", "[]", "{}", "{\"status\":\"failed\"}",
		"{\"activityProfilersTriggered\":7}", "{\"activityProfilersTriggered\":[-7]}",
		"{\"activityProfilersTriggered\":[4294967296]}",
		"{\"activityProfilersTriggered\":[\"7\"]}", "{\"activityProfilersTriggered\":[7",
		"{\"activityProfilersTriggered\":[[7]]}" };
	struct dynolog_answer a;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_int_not_equal(parse(texts[i], &a), 0);
		dynolog_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_question_is_json),
		cmocka_unit_test(an_answer_names_who_was_told),
		cmocka_unit_test(what_is_no_answer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
