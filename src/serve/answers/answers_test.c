/* SPDX-License-Identifier: MIT
 * Answers of recordings whose figures are known: what a request chooses, what is kept, what is refused and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/samples/stacks_rig.h"
#include "base/buf.h"
#include "base/err.h"
#include "serve/answers/answer.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "store/tables.h"
#include "store/writer.h"
#include "wire/records.h"

/* The first thread is in b on a CPU for one half of 0.4 s and waits in c for the other; the second is in d. */
static void open_sampled(struct library *l)
{
	struct rig m;

	rig_begin(&m);
	writer_add(m.w, RECORD_life,
		&(struct rec_life){ .t_ns = rig_ns(0), .process = m.process, .event = LIFE_START });
	for (uint64_t i = 0; i < 40; i++) {
		rig_sample(&m, 10 * i, 0, i % 2 ? "mab" : "mac", i % 2 ? SAMPLE_ON_CPU : 0);
		rig_sample(&m, 10 * i, 1, "md", SAMPLE_ON_CPU);
	}
	rig_end_process(&m, 400, 0);
	rig_finish(&m);
	tables_free(m.tables);
	vec_push(&l->recordings, recording_of_reader(m.reader, "/x/made.lead"));
	m.tables = NULL;
	m.reader = NULL;
	rig_done(&m);
}

static void open_traced(struct library *l)
{
	struct rig m;

	rig_begin(&m);
	writer_add(m.w, RECORD_life,
		&(struct rec_life){ .t_ns = rig_ns(0), .process = m.process, .event = LIFE_START });
	rig_node(&m, 0, 'm', (struct rec_node){ .calls = 3, .self_ns = 1000 });
	rig_end_process(&m, 10, 0);
	rig_finish(&m);
	tables_free(m.tables);
	vec_push(&l->recordings, recording_of_reader(m.reader, "/x/traced.lead"));
	m.tables = NULL;
	m.reader = NULL;
	rig_done(&m);
}

/* The status; the answer, or the reason that there is none, in `out`. */
static int ask(struct library *l, const char *name, const char *query, struct buf *out)
{
	struct params p;
	struct err e = ERR_INIT;
	int status;

	buf_clear(out);
	assert_int_equal(params_parse(&p, query, &e), 0);
	status = answer_make(l, name, &p, out, &e);
	if (status < 0) {
		assert_int_equal(out->n, 0);
		assert_null(strchr(e.text, '\n'));
		buf_adds(out, e.text);
	}
	params_done(&p);
	return status;
}

static double number_of(const struct buf *answer, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	at = strstr(answer->data, quoted);
	assert_non_null(at);
	return strtod(at + strlen(quoted), NULL);
}

static double total_of(struct library *l, const char *query)
{
	struct buf out = BUF_INIT;
	double total;

	assert_int_equal(ask(l, "table", query, &out), 0);
	total = number_of(&out, "total");
	buf_done(&out);
	return total;
}

static void a_request_chooses_what_the_report_does(void **state)
{
	struct library l = LIBRARY_INIT;

	(void)state;
	open_sampled(&l);
	assert_float_equal(total_of(&l, ""), 0.78, 0.03);
	assert_float_equal(total_of(&l, "state=cpu"), 0.585, 0.03);
	assert_float_equal(total_of(&l, "state=wait"), 0.195, 0.03);
	assert_float_equal(total_of(&l, "thread=%232"), 0.39, 0.03);
	assert_float_equal(total_of(&l, "process=10"), 0.78, 0.03);
	assert_float_equal(total_of(&l, "from=0.1&to=0.2"), 0.2, 0.04);
	assert_float_equal(total_of(&l, "drop=%5Ed "), 0.39, 0.03);
	/* A filter of rows leaves what shares are of as it is. */
	assert_float_equal(total_of(&l, "filter=%5Eb "), 0.78, 0.03);
	library_done(&l);
}

static void the_same_request_is_answered_by_what_was_made(void **state)
{
	struct library l = LIBRARY_INIT;
	struct selection *one = NULL, *same = NULL, *rows = NULL, *stacks = NULL;
	struct err e = ERR_INIT;
	struct params p;

	(void)state;
	open_sampled(&l);
	assert_int_equal(params_parse(&p, "state=cpu&filter=b", &e), 0);
	assert_int_equal(library_select(&l, &p, LIBRARY_ROWS, &one, &e), 0);
	assert_int_equal(library_select(&l, &p, LIBRARY_ROWS, &same, &e), 0);
	assert_ptr_equal(one, same);
	assert_int_equal(library_select(&l, &p, LIBRARY_STACKS, &stacks, &e), 0);
	assert_ptr_not_equal(one, stacks);
	params_done(&p);
	/* One of rows is no part of what is chosen. */
	assert_int_equal(params_parse(&p, "state=cpu&filter=c", &e), 0);
	assert_int_equal(library_select(&l, &p, LIBRARY_ROWS, &rows, &e), 0);
	assert_ptr_equal(one, rows);
	params_done(&p);
	library_done(&l);
}

static void what_cannot_be_answered_has_a_code_and_a_reason(void **state)
{
	static const struct {
		const char *name, *query;
		enum err_code code;
	} rows[] = { { "nothing", "", ERR_NO_FILE }, { "table", "r=7", ERR_NO_FILE },
		{ "table", "r=-1", ERR_USAGE }, { "table", "state=x", ERR_USAGE },
		{ "table", "from=x", ERR_USAGE }, { "table", "thread=nobody", ERR_USAGE },
		{ "table", "what=x", ERR_USAGE }, { "table", "sort=x", ERR_USAGE },
		{ "table", "sort=calls", ERR_UNSUPPORTED }, { "tree", "focus=(", ERR_USAGE },
		{ "tree", "direction=x", ERR_USAGE }, { "tree", "node=999999", ERR_NO_FILE },
		{ "table", "r=1&state=cpu", ERR_UNSUPPORTED },
		{ "table", "r=1&from=1", ERR_UNSUPPORTED }, { "source", "", ERR_USAGE },
		{ "torch", "", ERR_UNSUPPORTED }, { "ranks", "", ERR_UNSUPPORTED },
		{ "search", "", ERR_USAGE } };
	struct library l = LIBRARY_INIT;
	struct buf out = BUF_INIT;

	(void)state;
	open_sampled(&l);
	open_traced(&l);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int status = ask(&l, rows[i].name, rows[i].query, &out);

		if (status != -(int)rows[i].code)
			print_message("%s?%s: %d, %s\n", rows[i].name, rows[i].query, status,
				buf_str(&out));
		assert_int_equal(status, -(int)rows[i].code);
		assert_true(out.n > 0);
	}
	buf_done(&out);
	library_done(&l);
}

static void counted_calls_are_told(void **state)
{
	struct library l = LIBRARY_INIT;
	struct buf out = BUF_INIT;

	(void)state;
	open_traced(&l);
	assert_int_equal(ask(&l, "table", "sort=calls", &out), 0);
	assert_float_equal(number_of(&out, "calls"), 3, 0);
	assert_int_equal(ask(&l, "overview", "", &out), 0);
	assert_non_null(strstr(out.data, "traced.lead"));
	buf_done(&out);
	library_done(&l);
}

static void nothing_is_open(void **state)
{
	struct library l = LIBRARY_INIT;
	struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(ask(&l, "table", "", &out), -ERR_UNSUPPORTED);
	library_done(&l);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_chooses_what_the_report_does),
		cmocka_unit_test(the_same_request_is_answered_by_what_was_made),
		cmocka_unit_test(what_cannot_be_answered_has_a_code_and_a_reason),
		cmocka_unit_test(counted_calls_are_told),
		cmocka_unit_test(nothing_is_open),
	};

	return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
