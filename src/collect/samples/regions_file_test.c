/* SPDX-License-Identifier: MIT
 * Lines a program may write, and may not. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "collect/samples/regions_file.h"
#include "store/tables.h"
#include "store/writer.h"

struct rig {
	char dir[32], path[64];
	struct regions_file file;
	struct writer *w;
};

static void begin(struct rig *r)
{
	struct err e = ERR_INIT;

	*r = (struct rig){ .dir = "/tmp/leadline-XXXXXX", .file = REGIONS_FILE_INIT };
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->path, sizeof r->path, "%s/regions", r->dir);
	assert_int_equal(regions_file_open(&r->file, r->dir, &e), 0);
	assert_int_equal(writer_open(&r->w, NULL, NULL, &e), 0);
}

static void put(const struct rig *r, const char *text, size_t n)
{
	int fd = open(r->path, O_WRONLY | O_APPEND);

	assert_true(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
}

static void end(struct rig *r)
{
	struct err e = ERR_INIT;

	regions_file_done(&r->file);
	assert_int_equal(writer_close(r->w, &e), 0);
	unlink(r->path);
	rmdir(r->dir);
}

static void take(struct rig *r)
{
	while (regions_file_take(&r->file, r->w))
		;
}

static void test_lines(void **state)
{
	static const char one[] = "7 100 8 5000 20 load the data\n7 100 8 5000",
			  two[] = " 20 half\n";
	struct rig r;

	(void)state;
	begin(&r);
	put(&r, one, strlen(one));
	take(&r);
	assert_int_equal(r.file.n_lines, 1);
	put(&r, two, strlen(two));
	take(&r);
	take(&r);
	assert_int_equal(r.file.n_lines, 2);
	assert_int_equal(r.file.n_bad, 0);
	end(&r);
}

/* How many samples the recording's regions have, and of what name each is. */
static uint64_t samples_of(struct rig *r, const char *const *names)
{
	struct err e = ERR_INIT;
	struct reader *reader;
	struct tables *t;
	struct record_iter it;
	uint64_t samples = 0;

	writer_flush(r->w);
	assert_int_equal(reader_open_fd(&reader, dup(writer_fd(r->w)), "regions", &e), 0);
	assert_int_equal(tables_load(&t, reader, &e), 0);
	it = record_iter(t, RECORD_region);
	for (const struct rec_region *x; (x = record_next(&it)); names++) {
		assert_string_equal(tables_string(t, x->name), *names);
		assert_int_equal(*tables_string(t, x->category) != 0, x->samples != 0);
		samples += x->samples;
	}
	record_iter_done(&it);
	assert_null(*names);
	tables_free(t);
	reader_close(reader);
	return samples;
}

static void test_steps(void **state)
{
	static const char lines[] = "7 100 8 5000 20 step\03732\0374096\n7 100 8 5000 20 odd\037x\n"
				    "7 100 8 5000 20 odd\0371\0372\0373\n";
	static const char *const names[] = { "step", "odd\037x", "odd\0371\0372\0373", NULL };
	struct rig r;

	(void)state;
	begin(&r);
	put(&r, lines, strlen(lines));
	take(&r);
	assert_int_equal(samples_of(&r, names), 32);
	end(&r);
}

static void test_nonsense(void **state)
{
	static const char *const bad[] = { "\n", "7 100 8 5000 load\n", "-7 100 8 5000 20 x\n",
		"7 100 8 5000 20\n", "99999999999 1 1 1 1 x\n", "7 100 8 5000 20x y\n" };
	static char longest[20000];
	struct rig r;

	(void)state;
	begin(&r);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		put(&r, bad[i], strlen(bad[i]));
	take(&r);
	assert_int_equal(r.file.n_bad, sizeof bad / sizeof *bad);
	memset(longest, '7', sizeof longest);
	put(&r, longest, sizeof longest);
	take(&r);
	assert_true(r.file.text.n < 5000);
	put(&r, "\n7 100 8 5000 20 x\n", 19);
	take(&r);
	assert_int_equal(r.file.n_lines, 1);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
