/* SPDX-License-Identifier: MIT
 * Whose rights a process has, and files that are read with them; as root also by somebody else. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "sys/errand.h"
#include "sys/reach.h"
#include "sys/regular.h"
#include "sys/rights.h"

enum { NOBODY = 61003 };

static void rights_are_those_for_files(void **state)
{
	static const char text[] = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n"
				   "CapEff:\t0000000000000006\n";
	struct rights r = RIGHTS_NONE;

	(void)state;
	assert_true(rights_parse(text, &r));
	assert_int_equal(r.uid, 4);
	assert_int_equal(r.gid, 8);
	assert_int_equal(r.groups.n, 2);
	assert_int_equal(r.groups.v[1], 10);
	assert_int_equal(r.capabilities, 6);
	rights_done(&r);
}

static void what_is_no_status_gives_no_rights(void **state)
{
	static const char *const texts[] = { "",
		"Uid:\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t0\n",
		"Uid:\t0\t0\t0\t-1\nGid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t0\n",
		"Uid:\t0\t0\t0\t4294967295\nGid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t0\n",
		"Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nCapEff:\t0\n",
		"Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n",
		"Name:\tUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\nCapEff:\t0\n" };
	struct rights r = RIGHTS_NONE;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_false(rights_parse(texts[i], &r));
		assert_false(r.is_known);
	}
}

static void rights_only_become_less(void **state)
{
	struct rights r = RIGHTS_NONE;

	(void)state;
	rights_user(&r, NOBODY, NOBODY); /* which this process is not */
	rights_lower(&r, getpid());
	assert_int_equal(r.uid, NOBODY);
	rights_user(&r, 0, 0);
	r.capabilities = ~UINT64_C(0);
	rights_lower(&r, getpid());
	assert_int_equal(r.uid, geteuid());
	assert_true(r.capabilities != ~UINT64_C(0));
	rights_done(&r);
}

static void only_regular_files_are_opened(void **state)
{
	char folder[] = "/tmp/leadline-XXXXXX", path[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(regular_open(AT_FDCWD, path), -1);
	assert_int_equal(errno, EINVAL);
	unlink(path);
	assert_int_equal(regular_open(AT_FDCWD, folder), -1);
	assert_int_equal(regular_open(AT_FDCWD, "/dev/zero"), -1);
	assert_int_equal(regular_open(AT_FDCWD, "/proc/self/status"), -1);
	fd = regular_open(AT_FDCWD, "/proc/self/exe"); /* which is a file elsewhere */
	assert_true(fd >= 0);
	close(fd);
	rmdir(folder);
}

static void make_file(char path[64], mode_t mode)
{
	int fd;

	snprintf(path, 64, "/tmp/leadline-XXXXXX");
	fd = mkstemp(path);
	assert_int_equal(write(fd, "some text", 9), 9);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int load(uid_t uid, const char *path, struct buf *to)
{
	struct rights rights = RIGHTS_NONE;
	struct reach r;
	int status;

	rights_user(&rights, uid, uid);
	reach_init_user(&r, &rights, "");
	buf_clear(to);
	status = reach_load(&r, path, 100, to, NULL, NULL);
	reach_done(&r);
	return status;
}

static void somebody_else_reads_what_is_for_everyone(void **state)
{
	struct buf text = BUF_INIT;
	char open_to_all[64], own[64];

	(void)state;
	if (geteuid() != 0)
		skip();
	make_file(open_to_all, 0644);
	make_file(own, 0600);
	assert_int_equal(load(NOBODY, open_to_all, &text), 0);
	assert_string_equal(buf_str(&text), "some text");
	assert_int_equal(load(NOBODY, own, &text), -EACCES);
	assert_int_equal(text.n, 0);
	assert_int_equal(load(NOBODY, "/nonexistent", &text), -ENOENT);
	assert_int_equal(load(NOBODY, "relative", &text), -ENOENT);
	unlink(open_to_all);
	unlink(own);
	buf_done(&text);
}

static void a_file_has_a_limit(void **state)
{
	struct rights rights = RIGHTS_NONE;
	struct buf text = BUF_INIT;
	uint64_t size = 0;
	struct reach r;
	char path[64];

	(void)state;
	make_file(path, 0600);
	rights_own(&rights);
	reach_init_user(&r, &rights, "");
	assert_int_equal(reach_load(&r, path, 9, &text, NULL, NULL), 0);
	assert_int_equal(reach_load(&r, path, 8, &text, NULL, &size), -EFBIG);
	assert_int_equal(size, 9);
	assert_string_equal(buf_str(&text), "some text"); /* of the first */
	reach_done(&r);
	unlink(path);
	buf_done(&text);
}

static void never_answer(struct errand *own, void *ctx)
{
	(void)own;
	(void)ctx;
	for (;;)
		pause();
}

static void who_never_answers_is_not_waited_for(void **state)
{
	struct errand_options o = { .root = -1, .work = never_answer, .all_ms = 1 };
	struct errand x;
	pid_t pid;
	char byte;

	(void)state;
	/* the beginning itself may take longer */
	assert_true(errand_begin(&x, &o) || errno == EPERM);
	pid = x.pid;
	assert_false(errand_receive(&x, &byte, 1, NULL));
	errand_end(&x);
	assert_true(pid == 0 || kill(pid, 0) < 0);
}

static void who_was_ended_is_noticed(void **state)
{
	struct errand_options o = { .root = -1, .work = never_answer };
	struct errand x;
	char byte;

	(void)state;
	assert_true(errand_begin(&x, &o));
	kill(x.pid, SIGKILL);
	assert_false(errand_receive(&x, &byte, 1, NULL));
	assert_true(x.is_late);
	errand_end(&x);
}

/* It has no descriptor of ours but those it was given, and no right that was not. */
static void look_around(struct errand *own, void *ctx)
{
	const int *fds = ctx;
	bool is_right = fcntl(fds[0], F_GETFD) >= 0 && fcntl(fds[1], F_GETFD) < 0 &&
		fcntl(STDOUT_FILENO, F_GETFD) < 0 && geteuid() == getuid();

	errand_send(own, &is_right, sizeof is_right, -1);
}

static void an_errand_has_what_it_was_given(void **state)
{
	int fds[2];
	struct errand_options o = { .root = -1, .work = look_around, .ctx = fds, .n_keep = 1 };
	bool is_right = false;
	struct errand x;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	o.keep[0] = fds[0];
	assert_true(errand_begin(&x, &o));
	assert_true(errand_receive(&x, &is_right, sizeof is_right, NULL) && is_right);
	errand_end(&x);
	/* nobody else sees that there was a child */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rights_are_those_for_files),
		cmocka_unit_test(what_is_no_status_gives_no_rights),
		cmocka_unit_test(rights_only_become_less),
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(somebody_else_reads_what_is_for_everyone),
		cmocka_unit_test(a_file_has_a_limit),
		cmocka_unit_test(who_never_answers_is_not_waited_for),
		cmocka_unit_test(who_was_ended_is_noticed),
		cmocka_unit_test(an_errand_has_what_it_was_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
