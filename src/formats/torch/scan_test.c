/* SPDX-License-Identifier: MIT */
#include "formats/torch/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/torch/events.h"
#include "base/buf.h"
#include "base/err.h"
#include "formats/input.h"
#include "formats/torch/trace.h"
#include "base/banned.h"

static struct scan scan_of(const char *s, bool is_careful)
{
	return (struct scan){ .at = s, .end = s + strlen(s), .is_careful = is_careful };
}

static void a_decimal_is_read_in_thousandths_without_a_double_between(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = { { "3871283852352.653", 3871283852352653 }, { "12", 12000 }, { "-1.5", -1500 },
		{ "0.001", 1 }, { "1e3", 1000000 }, { "2.0006", 2001 }, { "0", 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scan_text t = { .p = cases[i].text, .n = strlen(cases[i].text) };
		int64_t value = 7;

		assert_true(scan_milli(&t, &value));
		assert_int_equal(value, cases[i].value);
	}
	assert_false(scan_milli(&(struct scan_text){ .p = "nan", .n = 3 }, &(int64_t){ 0 }));
	assert_false(scan_milli(&(struct scan_text){ .p = "", .n = 0 }, &(int64_t){ 0 }));
	assert_false(scan_milli(&(struct scan_text){ .p = "1x", .n = 2 }, &(int64_t){ 0 }));
}

/* Rounding begin and length by themselves would let an inner span end behind the outer one. */
static void a_sum_is_rounded_once(void **state)
{
	static const struct {
		const char *a, *b;
		int64_t value;
	} cases[] = { { "0.0004", "0.0004", 1 }, { "1", "2.5", 3500 }, { "1", "", 1000 },
		{ "1", "nan", 1000 }, { "1", "-2", 1000 }, { "-1.0005", "0.0001", -1000 },
		{ "3871283852352.6534", "0.0004", 3871283852352654 },
		{ "1", "1e300", 9000000000000000000 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scan_text a = { .p = cases[i].a, .n = strlen(cases[i].a) };
		struct scan_text b = { .p = cases[i].b, .n = strlen(cases[i].b) };
		int64_t value = 7;

		assert_true(scan_milli_sum(&a, &b, &value));
		assert_int_equal(value, cases[i].value);
	}
	assert_false(scan_milli_sum(&(struct scan_text){ .p = "1e300", .n = 5 },
		&(struct scan_text){ 0 }, &(int64_t){ 0 }));
}

static void a_careful_scan_takes_quotes_within_a_text_for_part_of_it(void **state)
{
	struct scan s = scan_of("\"f(\"a\", b)\", \"pid\": 1}", true);
	struct scan_text t;

	(void)state;
	assert_true(scan_text(&s, &t));
	assert_memory_equal(t.p, "f(\"a\", b)", t.n);
	assert_int_equal(t.n, 9);
	assert_int_equal(s.n_forgiven, 2);
	s = scan_of("\"f(\"a\", b)\", \"pid\": 1}", false);
	assert_true(scan_text(&s, &t));
	assert_int_equal(t.n, 2);
}

static void escapes_are_undone(void **state)
{
	static const char written[] = "a\\\"b\\n\\u00e9\\ud83d\\ude00\\ud800x\\/";
	struct scan_text t = { .p = written, .n = strlen(written), .has_escapes = true };
	struct buf text = BUF_INIT;

	(void)state;
	scan_decode(&t, &text);
	assert_string_equal(buf_str(&text), "a\"b\n\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx/");
	buf_done(&text);
}

static void what_ends_within_a_value_asks_for_more(void **state)
{
	static const char *const cases[] = { "\"abc", "[1, [2", "{\"a\": \"b", "12", "" };
	struct scan_text t;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scan s = scan_of(cases[i], false);

		assert_false(scan_value(&s, &t));
		assert_int_equal(s.status, SCAN_MORE);
	}
}

static int read_text(const struct buf *text, struct op_events *x, struct err *e)
{
	int fd = memfd_create("trace", MFD_CLOEXEC), status;
	struct input in;

	assert_int_equal(write(fd, text->data, text->n), text->n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	input_init(&in, fd);
	status = torch_trace_read(&in, x, e);
	input_done(&in);
	return status;
}

/* Five MB of events: the window ends within some of them, and a broken one is skipped across its ends. */
static void events_are_whole_wherever_the_window_ends(void **state)
{
	struct buf text = BUF_INIT;
	struct op_events x = { 0 };
	struct err e = ERR_INIT;
	enum { N = 40000 };

	(void)state;
	buf_adds(&text, "{\"schemaVersion\": 1, \"traceEvents\": [");
	for (unsigned i = 0; i < N; i++)
		buf_printf(&text,
			"%s\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": %s, \"pid\": 1, "
			"\"tid\": \"t\", \"ts\": %u.5, \"dur\": 0.25, \"args\": {\"External id\": %u}}",
			i ? "," : "", i % 1000 == 7 ? "\"broken\" x y" : "\"aten::add\"", i, i + 1);
	buf_adds(&text, "], \"traceName\": \"x\"}");
	assert_int_equal(read_text(&text, &x, &e), 0);
	assert_int_equal(x.n_lost, N / 1000);
	assert_int_equal(x.v.n, N - N / 1000);
	assert_false(x.is_cut);
	for (size_t i = 0; i < x.v.n; i++) {
		unsigned number = x.v.v[i].link - 1;

		assert_int_equal(x.v.v[i].start_ns, number * INT64_C(1000) + 500);
		assert_int_equal(x.v.v[i].duration_ns, 250);
	}
	assert_int_equal(x.names.items.n, 1);
	op_events_done(&x);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_decimal_is_read_in_thousandths_without_a_double_between),
		cmocka_unit_test(a_sum_is_rounded_once),
		cmocka_unit_test(a_careful_scan_takes_quotes_within_a_text_for_part_of_it),
		cmocka_unit_test(escapes_are_undone),
		cmocka_unit_test(what_ends_within_a_value_asks_for_more),
		cmocka_unit_test(events_are_whole_wherever_the_window_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
