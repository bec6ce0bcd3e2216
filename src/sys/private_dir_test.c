/* SPDX-License-Identifier: MIT
 * Folders of our own: where they are made, what is believed, who removes them. What other users can do to them is told by
 * tests/e2e/test_private_folder.py. */
#include "sys/private_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/banned.h"

static char own[PRIVATE_BASE_PATH]; /* a folder in which nobody else can make names */

/* Every test gets one, as XDG_RUNTIME_DIR. */
static int set_up(void **state)
{
	const char *top = geteuid() == 0 ? "/run" : getenv("HOME");

	(void)state;
	snprintf(own, sizeof own, "%s/leadline-test-XXXXXX", top ? top : "/tmp");
	unsetenv("TMPDIR");
	return mkdtemp(own) && setenv("XDG_RUNTIME_DIR", own, 1) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[PRIVATE_BASE_PATH + 32];

	(void)state;
	chmod(own, 0700);
	snprintf(command, sizeof command, "rm -rf '%s'", own);
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("TMPDIR");
	return system(command);
}

static bool is_in(const char *path, const char *folder)
{
	return strncmp(path, folder, strlen(folder)) == 0 && path[strlen(folder)] == '/';
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void make(struct private_dir *d, enum private_use use)
{
	struct err e = ERR_INIT;

	assert_int_equal(private_dir_make(d, use, sizeof d->path, &e), 0);
}

static void put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0400);

	assert_true(fd >= 0);
	close(fd);
}

static void it_is_ours_alone_and_goes_away_with_all_in_it(void **state)
{
	struct private_dir d, other;
	char path[PRIVATE_BASE_PATH + 64], outside[PRIVATE_BASE_PATH + 64];
	struct stat st;

	(void)state;
	make(&d, PRIVATE_SMALL);
	make(&other, PRIVATE_SMALL);
	assert_true(is_in(d.path, own));
	assert_string_not_equal(d.path, other.path);
	assert_int_equal(stat(d.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);

	snprintf(outside, sizeof outside, "%s/outside", own);
	assert_int_equal(mkdir(outside, 0700), 0);
	snprintf(path, sizeof path, "%s/outside/file", own);
	put(path);
	snprintf(path, sizeof path, "%s/link", d.path);
	assert_int_equal(symlink(outside, path), 0);
	snprintf(path, sizeof path, "%s/folder", d.path);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/folder/file", d.path);
	put(path);
	snprintf(path, sizeof path, "%s/folder", d.path);
	assert_int_equal(chmod(path, 0), 0);

	snprintf(path, sizeof path, "%s", d.path);
	private_dir_remove(&d);
	private_dir_remove(&d); /* there is none any more */
	assert_false(is_there(path));
	snprintf(path, sizeof path, "%s/outside/file", own);
	assert_true(is_there(path));
	assert_true(is_there(other.path));
	private_dir_remove(&other);
	snprintf(path, sizeof path, "%s/leadline", own);
	assert_true(is_there(path)); /* the name is held */
}

static void a_place_others_can_write_is_none(void **state)
{
	static const mode_t modes[] = { 0777, 01777, 0770, 0702 };
	char shared[] = "/tmp/leadline-test-XXXXXX", path[PRIVATE_BASE_PATH];
	struct private_dir d;

	(void)state;
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		assert_int_equal(chmod(own, modes[i]), 0);
		make(&d, PRIVATE_SMALL);
		assert_false(is_in(d.path, own));
		private_dir_remove(&d);
	}
	assert_int_equal(chmod(own, 0755), 0);
	make(&d, PRIVATE_SMALL);
	assert_true(is_in(d.path, own));
	private_dir_remove(&d);

	/* Ours, but in a folder of everyone's: whoever removes it frees the name. */
	assert_non_null(mkdtemp(shared));
	setenv("XDG_RUNTIME_DIR", shared, 1);
	setenv("TMPDIR", shared, 1);
	make(&d, PRIVATE_SMALL);
	assert_false(is_in(d.path, shared));
	private_dir_remove(&d);
	assert_int_equal(rmdir(shared), 0);

	setenv("TMPDIR", "relative", 1);
	make(&d, PRIVATE_SMALL);
	assert_int_equal(d.path[0], '/');
	private_dir_remove(&d);

	/* What is there under our name must be ours alone, and no link. */
	setenv("XDG_RUNTIME_DIR", own, 1);
	snprintf(path, sizeof path, "%.4000s/leadline", own);
	assert_int_equal(chmod(path, 0755), 0);
	make(&d, PRIVATE_SMALL);
	assert_false(is_in(d.path, own));
	private_dir_remove(&d);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/tmp", path), 0);
	make(&d, PRIVATE_SMALL);
	assert_false(is_in(d.path, own));
	private_dir_remove(&d);
}

static void a_link_to_a_place_is_followed_and_not_named(void **state)
{
	char link[PRIVATE_BASE_PATH], real[PRIVATE_BASE_PATH];
	struct private_dir d;

	(void)state;
	snprintf(real, sizeof real, "%.4000s/real", own);
	snprintf(link, sizeof link, "%.4000s/link", own);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink(real, link), 0);
	setenv("XDG_RUNTIME_DIR", link, 1);
	make(&d, PRIVATE_SMALL);
	assert_true(is_in(d.path, real));
	private_dir_remove(&d);
}

static void a_name_that_is_too_long_is_made_elsewhere(void **state)
{
	struct private_dir d;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(private_dir_make(&d, PRIVATE_SMALL, strlen(own) + 10, &e), 0);
	assert_false(is_in(d.path, own));
	assert_true(strlen(d.path) < strlen(own) + 10);
	private_dir_remove(&d);
	assert_true(private_dir_make(&d, PRIVATE_SMALL, 10, &e) < 0);
	assert_non_null(strstr(e.text, "too long"));
	private_dir_remove(&d);
}

/* A process that makes a folder with a file in it and waits to be killed. */
static pid_t start_one(char ret_path[PRIVATE_BASE_PATH])
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		struct private_dir d;
		struct err e = ERR_INIT;

		if (private_dir_make(&d, PRIVATE_SMALL, sizeof d.path, &e) < 0 ||
			mkdirat(d.fd, "bootstrap", 0700) < 0 ||
			write(fds[1], d.path, sizeof d.path) != (ssize_t)sizeof d.path)
			_exit(1);
		pause();
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], ret_path, PRIVATE_BASE_PATH), PRIVATE_BASE_PATH);
	close(fds[0]);
	return pid;
}

static void what_a_killed_one_left_goes_and_a_living_ones_stays(void **state)
{
	char killed[PRIVATE_BASE_PATH], living[PRIVATE_BASE_PATH];
	pid_t first = start_one(killed), second = start_one(living);
	struct private_dir d;

	(void)state;
	kill(first, SIGKILL);
	assert_int_equal(waitpid(first, NULL, 0), first);
	assert_true(is_there(killed));
	make(&d, PRIVATE_LARGE); /* wherever that is made */
	assert_false(is_there(killed));
	assert_true(is_there(living));
	private_dir_remove(&d);
	kill(second, SIGKILL);
	assert_int_equal(waitpid(second, NULL, 0), second);
	make(&d, PRIVATE_SMALL);
	assert_false(is_there(living));
	private_dir_remove(&d);
}

static void names_that_are_not_ours_are_left_alone(void **state)
{
	static const struct timespec old[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	char foreign[PRIVATE_BASE_PATH], other[PRIVATE_BASE_PATH], outside[PRIVATE_BASE_PATH],
		link[PRIVATE_BASE_PATH];
	struct private_dir d;

	(void)state;
	make(&d, PRIVATE_SMALL);
	snprintf(foreign, sizeof foreign, "%.4000s/leadline/ffffffff-abcdefgh", own);
	snprintf(other, sizeof other, "%.4000s/leadline/agents", own);
	snprintf(outside, sizeof outside, "%.4000s/outside", own);
	snprintf(link, sizeof link, "%.4000s/leadline/%.9slinklink", own, strrchr(d.path, '/') + 1);
	assert_int_equal(mkdir(foreign, 0700), 0);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(mkdir(outside, 0700), 0);
	assert_int_equal(symlink(outside, link), 0);
	private_dir_remove(&d);
	make(&d, PRIVATE_SMALL);
	private_dir_remove(&d);
	assert_true(is_there(foreign)); /* of another machine that shares the folder */
	assert_true(is_there(other));
	assert_true(is_there(link) && is_there(outside));

	assert_int_equal(utimensat(AT_FDCWD, foreign, old, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, other, old, 0), 0);
	make(&d, PRIVATE_SMALL);
	private_dir_remove(&d);
	assert_false(is_there(foreign)); /* untouched for a month */
	assert_true(is_there(other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(it_is_ours_alone_and_goes_away_with_all_in_it),
		TEST(a_place_others_can_write_is_none),
		TEST(a_link_to_a_place_is_followed_and_not_named),
		TEST(a_name_that_is_too_long_is_made_elsewhere),
		TEST(what_a_killed_one_left_goes_and_a_living_ones_stays),
		TEST(names_that_are_not_ours_are_left_alone),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
