/* SPDX-License-Identifier: MIT
 * cProfile's files: what Python wrote is read, what we write is read back, and a hostile one is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/calls/callstats.h"
#include "analyze/calls/exact.h"
#include "analyze/code/frames.h"
#include "formats/codec/marshal.h"
#include "formats/formats_rig.h"
#include "wire/records.h"

static const struct callstats *stats_of(struct format_rig *o)
{
	return callstats_build(&o->arena, o->selection->exact);
}

static const struct callstat *get(const struct callstats *s, const char *label)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].label, label) == 0)
			return &s->v[i];
	fail_msg("no function %s", label);
	return NULL;
}

static void add_function(struct buf *out, const char *file, uint64_t line, const char *name)
{
	marshal_tuple(out, 3);
	marshal_string(out, file);
	marshal_int(out, line);
	marshal_string(out, name);
}

static void add_cost(
	struct buf *out, uint64_t first, uint64_t second, double self_s, double total_s)
{
	marshal_int(out, first);
	marshal_int(out, second);
	marshal_float(out, self_s);
	marshal_float(out, total_s);
}

/* main called f 3 times, f itself 4 times more; f called len; "lost" is a caller without a row. */
static void make(struct buf *out)
{
	marshal_dict_begin(out);
	add_function(out, "/x/a.py", 1, "main");
	marshal_tuple(out, 5);
	add_cost(out, 1, 1, 0.5, 2);
	marshal_dict_begin(out);
	marshal_dict_end(out);
	add_function(out, "/x/a.py", 7, "f");
	marshal_tuple(out, 5);
	add_cost(out, 3, 7, 1.25, 1.5); /* primitive calls first */
	marshal_dict_begin(out);
	add_function(out, "/x/a.py", 1, "main");
	marshal_tuple(out, 4);
	add_cost(out, 3, 3, 1, 1.5); /* all calls first */
	add_function(out, "/x/a.py", 7, "f");
	marshal_tuple(out, 4);
	add_cost(out, 4, 2, 0.25, 0.25);
	marshal_dict_end(out);
	add_function(out, "~", 0, "<built-in method builtins.len>");
	marshal_tuple(out, 5);
	add_cost(out, 5000000000, 5000000000, 0.25, 0.25);
	marshal_dict_begin(out);
	add_function(out, "/x/gone.py", 3, "lost");
	marshal_int(out, 5); /* the pure-Python profiler counts only */
	marshal_dict_end(out);
	marshal_dict_end(out);
}

static void check(const struct callstats *s)
{
	const struct callstat *f = get(s, "/x/a.py:7(f)"),
			      *len = get(s, "{built-in method builtins.len}");

	assert_int_equal(s->n_listed, 3);
	assert_false(get(s, "/x/gone.py:3(lost)")->is_listed);
	assert_int_equal(f->cost.calls, 7);
	assert_int_equal(f->cost.primitive_calls, 3);
	assert_true(fabs(f->cost.self_s - 1.25) < 1e-12);
	assert_int_equal(f->n_callers, 2);
	assert_int_equal(f->callers[1].cost.calls, 4);
	assert_int_equal(f->callers[1].cost.primitive_calls, 2);
	assert_int_equal(len->cost.calls, 5000000000);
	assert_int_equal(len->callers[0].cost.calls, 5);
	assert_true(fabs(s->all.self_s - 2) < 1e-12);
}

static void counts_are_read_in_the_order_the_file_has_them(void **state)
{
	const struct callstats *s;
	struct buf bytes = BUF_INIT;
	struct format_rig o;

	(void)state;
	make(&bytes);
	format_rig_open(&o, "pstats", bytes.data, bytes.n);
	assert_int_equal(o.status, 0);
	s = stats_of(&o);
	check(s);
	assert_string_equal(s->v[0].name, "main"); /* the file's order */
	format_rig_close(&o);
	buf_done(&bytes);
}

static void what_is_written_is_read_back(void **state)
{
	struct buf bytes = BUF_INIT, again = BUF_INIT;
	struct format_rig o;

	(void)state;
	make(&bytes);
	format_rig_open(&o, "pstats", bytes.data, bytes.n);
	format_rig_write(&o, "pstats", &again);
	format_rig_close(&o);
	format_rig_open(&o, "pstats", again.data, again.n);
	assert_int_equal(o.status, 0);
	check(stats_of(&o));
	format_rig_close(&o);
	buf_done(&bytes);
	buf_done(&again);
}

/* marshal.dumps({f: (1, 1, 0.5, 0.5, {f: (1, 1, 0.5, 0.5)})}, 4) of CPython 3.13, f = ("f.py", 3, "g"):
 * parts that come again are references. */
static const char referring[] =
	"{\xa9\x03\xfa\x04"
	"f.py\xe9\x03\0\0\0\xda\x01g)\x05\xe9\x01\0\0\0r\x04\0\0\0\xe7\0\0\0\0\0\0\xe0?r\x05\0\0\0{r\0\0\0\0"
	")\x04r\x04\0\0\0r\x04\0\0\0r\x05\0\0\0r\x05\0\0\0"
	"00";

static void references_are_followed(void **state)
{
	const struct callstats *s;
	struct format_rig o;

	(void)state;
	format_rig_open(&o, "pstats", referring, sizeof referring - 1);
	assert_int_equal(o.status, 0);
	s = stats_of(&o);
	assert_int_equal(s->n, 1);
	assert_int_equal(get(s, "f.py:3(g)")->callers[0].cost.calls, 1);
	format_rig_close(&o);
}

static void a_file_that_ends_early_is_refused_wherever_it_ends(void **state)
{
	struct buf bytes = BUF_INIT;
	struct format_rig o;

	(void)state;
	make(&bytes);
	for (size_t n = 12; n < bytes.n; n++) {
		format_rig_open(&o, "pstats", bytes.data, n);
		assert_int_equal(o.e.code, ERR_BAD_FILE);
		format_rig_close(&o);
	}
	for (size_t n = 12; n < sizeof referring - 1; n++) {
		format_rig_open(&o, "pstats", referring, n);
		assert_int_equal(o.e.code, ERR_BAD_FILE);
		format_rig_close(&o);
	}
	buf_done(&bytes);
}

static void refuse(const char *bytes, size_t n, const char *reason)
{
	const struct marshal_value *v;
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;

	assert_true(marshal_parse(&a, bytes, n, &v, &e) < 0);
	if (!strstr(e.text, reason))
		fail_msg("'%s' instead of '%s'", e.text, reason);
	arena_done(&a);
}

static void what_profiles_do_not_hold_is_refused(void **state)
{
	(void)state;
	refuse("c\0\0\0\0", 5, "byte 1: a kind of value that profiles do not have"); /* code */
	refuse("(\xff\xff\xff\x7fN", 6, "a length that is larger than the file");
	refuse("s\x05\0\0\0ab", 7, "a length that is larger than the file");
	refuse("r\0\0\0\0", 5, "a reference to nothing");
	refuse("\xa9\x01r\0\0\0\0", 7, "a reference to nothing"); /* to itself */
	refuse("(\1\0\0\0g12", 8, "middle of a value");
	refuse("[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0"
	       "[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0[\x01\0\0\0N",
		91, "nested too deeply");
	refuse("l\xff\xff\xff\x7f\1\0", 7, "a number that is too large");
	refuse("{N0", 3, "a key without its value");
	refuse("(\1\0\0\0000", 6, "an end where an item belongs");
	refuse("", 0, "middle of a value");
}

static void numbers_of_all_versions_are_read(void **state)
{
	/* 'l' with 5 digits of 15 bits, negative; 'I'; 'f' as text; Python 2's interned 't' and 'R'. */
	static const char bytes[] =
		"(\x06\0\0\0l\xfe\xff\xff\xff\x01\0\x01\0I\0\0\0\0\x01\0\0\0f\x03"
		"0.5t\x02\0\0\0abR\0\0\0\0l\x05\0\0\0\0\0\0\0\0\0\0\0\x01\0";
	const struct marshal_value *v;
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(marshal_parse(&a, bytes, sizeof bytes - 1, &v, &e), 0);
	assert_int_equal(v->items[0]->integer, -32769);
	assert_int_equal(v->items[1]->integer, 4294967296);
	assert_true(v->items[2]->real == 0.5);
	assert_ptr_equal(v->items[3], v->items[4]);
	assert_true(v->items[5]->real == 0x1p60);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_read_in_the_order_the_file_has_them),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(references_are_followed),
		cmocka_unit_test(a_file_that_ends_early_is_refused_wherever_it_ends),
		cmocka_unit_test(what_profiles_do_not_hold_is_refused),
		cmocka_unit_test(numbers_of_all_versions_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
