/* SPDX-License-Identifier: MIT
 * Files of other tools: text formats, what is recognised, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "formats/format.h"
#include "formats/formats_rig.h"

static const char folded[] = "main (a.py:3);f (/x/b.py:10) 30\n"
			     "main (a.py:3);f (/x/b.py:11) 12\n"
			     "main (a.py:4);operator() (int) 8\n"
			     "/x/b.py:g:7;[idle] 50\n";

static struct stack_frame leaf_of(const struct format_rig *o, size_t place)
{
	static struct stack_frame frames[STACKS_DEPTH];

	stacks_frames(o->stacks, place, frames);
	return frames[0];
}

static void collapsed_stacks_have_files_and_lines(void **state)
{
	struct format_rig o;

	(void)state;
	format_rig_open(&o, "collapsed", folded, strlen(folded));
	assert_int_equal(o.status, 0);
	assert_true(o.stacks->is_foreign);
	assert_int_equal(o.stacks->unit, UNIT_COUNT);
	assert_true(format_rig_value(&o, "main;f") == 42);
	assert_true(format_rig_value(&o, "main;operator() (int)") == 8);
	assert_true(format_rig_value(&o, "g;[idle]") == 50);
	assert_string_equal(leaf_of(&o, 0).file, "/x/b.py");
	assert_int_equal(leaf_of(&o, 0).line, 10);
	assert_true(leaf_of(&o, 2).is_synthetic);
	assert_int_equal(o.stacks->n_samples, 100);
	format_rig_close(&o);
}

static void what_is_written_reads_the_same(void **state)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct format_rig o, again;

	(void)state;
	format_rig_open(&o, "collapsed", folded, strlen(folded));
	format_rig_write(&o, "collapsed", &once);
	format_rig_open(&again, "collapsed", once.data, once.n);
	format_rig_write(&again, "collapsed", &twice);
	assert_string_equal(buf_str(&once), buf_str(&twice));
	assert_true(format_rig_value(&again, "main;f") == 42);
	format_rig_close(&o);
	format_rig_close(&again);
	buf_done(&once);
	buf_done(&twice);
}

static void a_caller_of_many_keeps_each_apart(void **state)
{
	struct buf text = BUF_INIT;
	struct format_rig o;
	char stack[40];

	(void)state;
	for (unsigned i = 0; i < 400; i++) /* each of 100 four times, not in one order */
		buf_printf(&text, "main;f%u;g%u %u\n", i * 37 % 100, i * 37 % 7, i * 37 % 100 + 1);
	format_rig_open(&o, "collapsed", text.data, text.n);
	assert_int_equal(o.status, 0);
	for (unsigned i = 0; i < 100; i++) {
		double sum = 0;

		for (unsigned k = 0; k < 7; k++) {
			snprintf(stack, sizeof stack, "main;f%u;g%u", i, k);
			sum += format_rig_value(&o, stack);
		}
		assert_true(sum == 4 * (i + 1));
	}
	format_rig_close(&o);
	buf_done(&text);
}

static void gzip_is_undone(void **state)
{
	unsigned char packed[1000];
	z_stream z = { .next_in = (void *)(uintptr_t)folded,
		.avail_in = sizeof folded - 1,
		.next_out = packed,
		.avail_out = sizeof packed };
	struct format_rig o;
	size_t n;

	(void)state;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n = z.total_out;
	deflateEnd(&z);
	format_rig_open(&o, "collapsed", packed, n);
	assert_true(format_rig_value(&o, "main;f") == 42);
	format_rig_close(&o);
	memcpy(packed + n, packed, n); /* two members are one file */
	format_rig_open(&o, "collapsed", packed, 2 * n);
	assert_true(format_rig_value(&o, "main;f") == 84);
	format_rig_close(&o);
	format_rig_open(&o, "collapsed", packed, n - 10);
	assert_true(o.status < 0);
	assert_non_null(strstr(o.e.text, "gzip"));
	format_rig_close(&o);
}

static void refused(const char *text, size_t n, const char *why)
{
	struct format_rig o;

	format_rig_open(&o, NULL, text, n);
	assert_true(o.status < 0);
	assert_int_equal(o.e.code, ERR_BAD_FILE);
	if (!strstr(o.e.text, why))
		print_message("%s\n", o.e.text);
	assert_non_null(strstr(o.e.text, why));
	format_rig_close(&o);
}

static void other_files_are_refused_in_one_line(void **state)
{
	static const char binary[] = "\x7f\x45LF\0\0\0 12\n";

	(void)state;
	refused("", 0, "is empty");
	refused("hello world\n", 12, "neither a recording nor");
	refused(binary, sizeof binary - 1, "neither a recording nor");
	refused("a;b 1\nnot one\n", 14, "neither a recording nor");
	refused("\n", 1, "neither a recording nor");
}

static void suffixes_choose_the_format(void **state)
{
	(void)state;
	assert_string_equal(format_for_path("x.folded")->name, "collapsed");
	assert_null(format_for_path(".folded"));
	assert_null(format_for_path("x.lead"));
	for (size_t i = 0; i < n_formats; i++)
		for (size_t k = 0; k < 4 && formats[i]->suffixes[k]; k++)
			for (size_t j = 0; j < i; j++)
				for (size_t l = 0; l < 4 && formats[j]->suffixes[l]; l++)
					assert_string_not_equal(
						formats[i]->suffixes[k], formats[j]->suffixes[l]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collapsed_stacks_have_files_and_lines),
		cmocka_unit_test(what_is_written_reads_the_same),
		cmocka_unit_test(a_caller_of_many_keeps_each_apart),
		cmocka_unit_test(gzip_is_undone),
		cmocka_unit_test(other_files_are_refused_in_one_line),
		cmocka_unit_test(suffixes_choose_the_format),
	};

	return cmocka_run_group_tests_name("formats", tests, NULL, NULL);
}
