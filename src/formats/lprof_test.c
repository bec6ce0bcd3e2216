/* SPDX-License-Identifier: MIT
 * line_profiler's files: what it wrote is read, what we write is read back, and nothing else is obeyed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/calls/exact_lines.h"
#include "analyze/code/frames.h"
#include "formats/codec/pickle.h"
#include "formats/formats_rig.h"

/* LineStats({("a.py", 1, "f"): [(3, 1, 500), (4, 101, 70000)], ("a.py", 7, "g"): [(9, 4, 2)]}, 1e-06) as
 * line_profiler 5 on CPython 3.13 pickles it (protocol 5). */
static const char recent[] =
	"\x80\x05\x95\x8d\0\0\0\0\0\0\0\x8c\x1bline_profiler.line_profiler\x94\x8c\tLineStats\x94\x93\x94)"
	"\x81\x94}\x94(\x8c\x07timings\x94}\x94(\x8c\x04"
	"a.py\x94K\x01\x8c\x01"
	"f\x94\x87\x94]\x94(K\x03K\x01M\xf4\x01\x87\x94K\x04KeJp\x11\x01\0\x87\x94"
	"eh\x07K\x07\x8c\x01g\x94\x87\x94]\x94K\tK\x04K\x02\x87\x94"
	"au\x8c\x04unit\x94G>\xb0\xc6\xf7\xa0\xb5\xed\x8dub.";

/* The same shape as versions under Python 2 wrote it: protocol 2, numbered memo, byte strings. */
static const char old[] =
	"\x80\x02"
	"c_line_profiler\nLineStats\nq\x01)\x81q\x02}q\x03(U\x04unitq\x04G>\xb0\xc6\xf7\xa0\xb5\xed\x8dU\x07timingsq\x05}q\x06U\x04"
	"a.pyq\x07K\x01U\x01"
	"fq\x08\x87q\t]q\n(K\x03K\x01M\xf4\x01\x87q\x0bK\x04KeJp\x11\x01\0\x87q\x0c"
	"esub.";

static const struct exact_lines *lines_of(struct format_rig *o)
{
	return o->selection->exact_lines;
}

static void check_first(const struct exact_lines *l)
{
	const struct exact_lines_function *f = &l->functions[0];

	assert_string_equal(f->name, "f");
	assert_string_equal(f->file, "a.py");
	assert_int_equal(f->first_line, 1);
	assert_int_equal(f->n_lines, 2);
	assert_int_equal(f->lines[1].line, 4);
	assert_int_equal(f->lines[1].hits, 101);
	assert_true(fabs(f->lines[1].total_s - 0.07) < 1e-9);
	assert_true(isnan(f->lines[1].own_s));
	assert_false(l->has_own);
}

static void files_of_recent_and_old_versions_are_read(void **state)
{
	struct format_rig o;

	(void)state;
	format_rig_open(&o, "lprof", recent, sizeof recent - 1);
	assert_int_equal(o.status, 0);
	assert_int_equal(lines_of(&o)->n_functions, 2);
	check_first(lines_of(&o));
	assert_int_equal(lines_of(&o)->functions[1].lines[0].hits, 4);
	format_rig_close(&o);
	format_rig_open(&o, "lprof", old, sizeof old - 1);
	assert_int_equal(o.status, 0);
	check_first(lines_of(&o));
	format_rig_close(&o);
}

static void what_is_written_is_read_back(void **state)
{
	struct buf again = BUF_INIT;
	struct format_rig o;

	(void)state;
	format_rig_open(&o, "lprof", recent, sizeof recent - 1);
	format_rig_write(&o, "lprof", &again);
	format_rig_close(&o);
	format_rig_open(&o, "lprof", again.data, again.n);
	assert_int_equal(o.status, 0);
	assert_int_equal(lines_of(&o)->n_functions, 2);
	check_first(lines_of(&o));
	format_rig_close(&o);
	buf_done(&again);
}

static void a_file_that_ends_early_is_refused_wherever_it_ends(void **state)
{
	struct format_rig o;

	(void)state;
	for (size_t n = 60; n < sizeof recent - 1; n++) {
		format_rig_open(&o, "lprof", recent, n);
		assert_int_equal(o.e.code, ERR_BAD_FILE);
		format_rig_close(&o);
	}
}

static bool allows_stats(const char *module, size_t n_module, const char *name, size_t n_name)
{
	(void)module, (void)n_module;
	return n_name == 9 && memcmp(name, "LineStats", 9) == 0;
}

static void refuse(const char *bytes, size_t n, const char *reason)
{
	const struct pickle_value *v;
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;

	assert_true(pickle_parse(&a, bytes, n, allows_stats, &v, &e) < 0);
	if (!strstr(e.text, reason))
		fail_msg("'%s' instead of '%s'", e.text, reason);
	arena_done(&a);
}

static void nothing_but_data_is_obeyed(void **state)
{
	static const char call[] = "\x80\x02"
				   "cos\nsystem\nU\x02id\x85R.";

	(void)state;
	refuse(call, sizeof call - 1, "byte 13: an object of a class that such files do not have");
	refuse("cx\nLineStats\n)R.", 17, "an instruction that such files do not have");
	refuse("K\x01"
	       "b.",
		4, "a state for something that is not an object");
	refuse("h\x05.", 3, "a reference to nothing");
	refuse("]K\x01K\x02u.", 7, "needs a mark");
	refuse("(K\x01"
	       "e.",
		5, "not a list or dict");
	refuse("}(K\x01u.", 6, "not a list or dict");
	refuse("\x87.", 2, "has none");
	refuse("X\xff\xff\xff\x7f.", 6, "larger than the file");
	refuse("\x8a\x09\1\2\3\4\5\6\7\1\1.", 12, "too large");
	refuse("K\x01K\x02.", 5, "belong to nothing");
	refuse("", 0, "middle of an instruction");
	refuse("\x94", 1, "has none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_recent_and_old_versions_are_read),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(a_file_that_ends_early_is_refused_wherever_it_ends),
		cmocka_unit_test(nothing_but_data_is_obeyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
