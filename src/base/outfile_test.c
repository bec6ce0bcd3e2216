/* SPDX-License-Identifier: MIT
 * Files that users get: their mode, links on the way, and names that lead nowhere. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"

static char folder[] = "/tmp/leadline-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", folder);
	return chdir("/") == 0 ? system(command) : -1;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static int save(const char *path, const char *words, struct err *e)
{
	struct buf text = BUF_INIT;
	int status;

	*e = ERR_INIT;
	buf_adds(&text, words);
	status = outfile_save(&text, path, e);
	buf_done(&text);
	return status;
}

static void assert_holds(const char *path, const char *words)
{
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(buf_load(&text, path, 1000, &e), 0);
	assert_string_equal(buf_str(&text), words);
	buf_done(&text);
}

static void a_new_file_is_its_owners_and_an_old_one_keeps_its_mode(void **state)
{
	mode_t before = umask(0777);
	struct err e;
	int fd;

	(void)state;
	assert_int_equal(save("new", "first", &e), 0);
	umask(0);
	assert_int_equal(save("newer", "", &e), 0);
	umask(before);
	assert_int_equal(mode_of("new"), 0600);
	assert_int_equal(mode_of("newer"), 0600);
	assert_int_equal(chmod("new", 0644), 0);
	assert_int_equal(save("./new", "2nd", &e), 0);
	assert_int_equal(mode_of("new"), 0644);
	assert_holds("new", "2nd");
	assert_true(outfile_open("new", OUTFILE_NEW, &fd, &e) < 0);
	assert_int_equal(e.sys, EEXIST);
	assert_int_equal(outfile_make_folder("made"), 0);
	assert_int_equal(mode_of("made"), 0700);
	assert_int_equal(outfile_make_folder("made"), -1);
	assert_int_equal(errno, EEXIST);
}

static void ones_own_links_are_followed(void **state)
{
	char path[PATH_MAX];
	struct err e;
	int fd;

	(void)state;
	assert_int_equal(mkdir("real", 0700), 0);
	assert_int_equal(symlink("real", "way"), 0);
	assert_int_equal(symlink("../real/./file", "real/link"), 0);
	snprintf(path, sizeof path, "%s/way/link", folder);
	assert_int_equal(symlink(path, "absolute"), 0);
	assert_int_equal(save("absolute", "far", &e), 0);
	assert_holds("real/file", "far");
	assert_int_equal(save("real//..///way/link", "again", &e), 0);
	assert_holds("real/file", "again");
	assert_true(outfile_open("absolute", OUTFILE_NEW, &fd, &e) < 0); /* a link is something */
}

static void what_leads_nowhere_is_told(void **state)
{
	char longest[9000], links[4000];
	struct err e;

	(void)state;
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	for (int i = 0; i < 1300; i++)
		memcpy(links + 3 * i, "./.", 3);
	memset(links + 3900, '/', 99);
	links[3999] = '\0';
	assert_int_equal(symlink(links, "long"), 0);
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	for (size_t i = 200; i < sizeof longest - 1; i += 200)
		longest[i] = '/';
	assert_int_equal(save("", "", &e), -ERR_NO_FILE);
	assert_int_equal(save("folder/no/file", "", &e), -ERR_NO_FILE);
	assert_true(save("folder", "", &e) < 0 && e.sys == EISDIR);
	assert_true(save("folder/", "", &e) < 0);
	assert_true(save(".", "", &e) < 0);
	assert_true(save("/", "", &e) < 0);
	assert_true(save("loop", "", &e) < 0 && e.sys == ELOOP);
	assert_true(save("loop/x", "", &e) < 0 && e.sys == ELOOP);
	assert_true(save(longest, "", &e) < 0 && e.sys == ENAMETOOLONG);
	longest[8100] = '\0';
	assert_true(save(longest, "", &e) < 0);
	longest[300] = 'x';
	longest[400] = 'x';
	assert_true(save(longest, "", &e) < 0);
	snprintf(longest, sizeof longest, "long/long/long/%s", links);
	assert_true(save(longest, "", &e) < 0);
}

static void a_stranger_is_not_followed(void **state)
{
	struct err e;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir("shared", 0700), 0);
	assert_int_equal(chmod("shared", 01777), 0);
	assert_int_equal(symlink("../aim", "shared/link"), 0);
	assert_int_equal(lchown("shared/link", 61003, 61003), 0);
	assert_int_equal(save("shared/link", "x", &e), -ERR_NO_PERMISSION);
	assert_non_null(strstr(e.text, "shared/link: another user has put a link there"));
	assert_int_equal(access("aim", F_OK), -1);
	assert_int_equal(chmod("shared", 0755), 0); /* where only we may write, it was let in */
	assert_int_equal(save("shared/link", "x", &e), 0);
	assert_holds("aim", "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file_is_its_owners_and_an_old_one_keeps_its_mode),
		cmocka_unit_test(ones_own_links_are_followed),
		cmocka_unit_test(what_leads_nowhere_is_told),
		cmocka_unit_test(a_stranger_is_not_followed),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
