/* SPDX-License-Identifier: MIT
 * interpreters, with made-up ones (shell scripts and links in a folder of their own), and the
 * parsers of privilege. No Python is needed. */
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
#include "base/xalloc.h"
#include "sys/interpreters.h"
#include "sys/privilege.h"
#include "wire/clock.h"

/* ---- what an interpreter says ---------------------------------------------------------------- */

static struct interpreter parsed(const char *printed, size_t n)
{
	struct interpreter i = { 0 };

	interpreter_parse(&i, printed, n, NULL, 0);
	return i;
}

static struct interpreter parse(const char *printed)
{
	return parsed(printed, strlen(printed));
}

static void an_answer_is_taken_apart(void **state)
{
	char exe[64];
	struct interpreter i = { 0 };
	static const char said[] =
		"a warning\nleadline-torch\t2.13.0+cpu\nleadline-answer\t3.13.5\tcpython\t1\t1\t/opt/a b/python3\nbye\n";

	(void)state;
	interpreter_parse(&i, said, strlen(said), exe, sizeof exe);
	assert_string_equal(i.version, "3.13.5");
	assert_string_equal(i.implementation, "CPython");
	assert_string_equal(i.torch, "2.13.0+cpu");
	assert_int_equal(i.major, 3);
	assert_int_equal(i.minor, 13);
	assert_true(i.is_free_threaded && i.is_64bit && i.is_supported);
	assert_string_equal(i.reason, "");
	assert_string_equal(exe, "/opt/a b/python3");
}

static void versions_have_bounds(void **state)
{
	static const struct {
		const char *answer, *reason;
	} cases[] = {
		{ "3.8.0\tcpython\t0\t1\t", "" },
		{ "3.15.0a2\tcpython\t0\t1\t", "" },
		{ "3.14.0rc1\tcpython\t1\t1\t/usr/bin/python3.14t", "" },
		{ "3.7.17\tcpython\t0\t1\t", "3.7 is older than 3.8" },
		{ "2.7.18\tcpython\t0\t1\t", "2.7 is older than 3.8" },
		{ "3.16.0\tcpython\t0\t1\t",
			"3.16 is newer than 3.15, the newest version leadline knows" },
		{ "3.10.14\tpypy\t0\t1\t", "PyPy is not CPython" },
		{ "3.11.7\tgraalpy\t0\t1\t", "GraalPy is not CPython" },
		{ "3.11.7\tmine\t0\t1\t", "mine is not CPython" },
		{ "3.11.7\tcpython\t0\t0\t", "it is a 32-bit build" },
	};

	(void)state;
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		char line[128];
		struct interpreter i;

		snprintf(line, sizeof line, "leadline-answer\t%s\n", cases[k].answer);
		i = parse(line);
		assert_string_equal(i.reason, cases[k].reason);
		assert_int_equal(i.is_supported, cases[k].reason[0] == '\0');
	}
}

static void garbage_is_no_answer(void **state)
{
	static const char *const bad[] = {
		"leadline-answer\t\n",
		"leadline-answer\t3.11.7\n",
		"leadline-answer\t3.11.7\tcpython\t0\t1\n",   /* a field is missing */
		"leadline-answer\t3.11.7\tcpython\t0\t1\t/x", /* cut off */
		"leadline-answer\t3.11\tcpython\t0\t1\t/x\n", /* no patch level */
		"leadline-answer\t+3.11.7\tcpython\t0\t1\t/x\n",
		"leadline-answer\t3.11.7\x1b[2J\tcpython\t0\t1\t\n", /* clears the screen */
		"leadline-answer\t3.11.7\tcpy\x1bthon\t0\t1\t\n",
		"leadline-answer\t99999999999.11.7\tcpython\t0\t1\t\n",
		"leadline-answer\t3.11.7aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\tcpython\t0\t1\t\n",
		"leadline-answer\t3.11.7\tcpythoncpythoncpythoncpython\t0\t1\t\n",
		"leadline-answer\t3.11.7\tcpython\t2\t1\t\n",
		"leadline-answer\t3.11.7\tcpython\t0\t1yes\t\n",
		" leadline-answer\t3.11.7\tcpython\t0\t1\t\n",
	};
	static const char with_nul[] = "leadline-answer\t3.11.7\tcpython\t0\t1\t/x\0y\n";

	(void)state;
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		struct interpreter i = parse(bad[k]);

		assert_false(i.is_supported);
		assert_string_equal(i.version, "");
		assert_string_equal(i.implementation, "");
		assert_null(strchr(i.reason, '\x1b'));
		assert_null(strchr(i.reason, '\t'));
	}
	assert_false(parsed(with_nul, sizeof with_nul - 1).is_supported);
}

static void the_reason_quotes_the_last_line(void **state)
{
	char much[5000];
	struct interpreter i;

	(void)state;
	assert_string_equal(parse("").reason, "it said nothing when asked for its version");
	assert_string_equal(parse("\n \n").reason, "it said nothing when asked for its version");
	assert_string_equal(parse("one\nerror: \x1b[31mno\xff libpython\n\n").reason,
		"asked for its version, it said: error: \\x1b[31mno\xef\xbf\xbd libpython");
	memset(much, 'x', sizeof much);
	i = parsed(much, sizeof much);
	assert_false(i.is_supported);
	assert_true(strlen(i.reason) < 110);
}

static void any_bytes_are_survived(void **state)
{
	static const char start[] = "leadline-answer\t3.11.7\tcpython\t0\t1\t/x\n";
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char said[96], exe[32];
		size_t n = (size_t)(rand_r(&seed) % (int)sizeof said);
		struct interpreter i = { 0 };

		for (size_t k = 0; k < n; k++)
			said[k] = k < sizeof start - 1 && rand_r(&seed) % 8 ? start[k]
									    : (char)rand_r(&seed);
		interpreter_parse(&i, said, n, exe, sizeof exe);
		assert_true(i.is_supported || i.reason[0]);
		assert_int_equal(i.is_supported, i.reason[0] == '\0');
	}
}

/* ---- finding them ---------------------------------------------------------------------------- */

struct folder {
	char path[64];
	struct interpreters all;
};

static void put(const struct folder *f, const char *name, const char *script)
{
	char path[200];
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;

	snprintf(path, sizeof path, "%s/%s", f->path, name);
	buf_printf(&text, "#!/bin/sh\n%s\n", script);
	assert_int_equal(buf_save(&text, path, &e), 0);
	assert_int_equal(chmod(path, 0755), 0);
	buf_done(&text);
}

static void make_folder(const struct folder *f, const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", f->path, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void link_to(const struct folder *f, const char *target, const char *name)
{
	char from[200], to[200];

	snprintf(from, sizeof from, "%s/%s", f->path, target);
	snprintf(to, sizeof to, "%s/%s", f->path, name);
	assert_int_equal(symlink(from, to), 0);
}

static int set_up(void **state)
{
	struct folder *f = xcalloc(1, sizeof *f);

	snprintf(f->path, sizeof f->path, "/tmp/interpreters-XXXXXX");
	*state = f;
	if (!mkdtemp(f->path))
		return -1;
	make_folder(f, "bin");
	make_folder(f, "shims");
	make_folder(f, "home");
	return 0;
}

static int tear_down(void **state)
{
	struct folder *f = *state;
	char command[100];

	interpreters_done(&f->all);
	snprintf(command, sizeof command, "rm -rf %s", f->path);
	if (system(command) != 0)
		return -1;
	free(f);
	return 0;
}

/* Looks on a PATH of bin and shims, and nowhere on the real machine. */
static void find(struct folder *f, const char *path_pattern)
{
	char path[400], home[200];
	struct interpreter_places places = { .path = path, .home = home, .system = f->path };

	snprintf(path, sizeof path, path_pattern, f->path, f->path);
	snprintf(home, sizeof home, "%s/home", f->path);
	interpreters_done(&f->all);
	interpreters_find(&f->all, &places);
}

#define ANSWER(version, exe) "printf 'leadline-answer\\t" version "\\tcpython\\t0\\t1\\t%s\\n' " exe

static void the_path_is_searched_newest_first(void **state)
{
	struct folder *f = *state;

	put(f, "bin/python3", ANSWER("3.9.1", "/none"));
	put(f, "bin/python3.12", ANSWER("3.12.1", "/none"));
	put(f, "bin/python3.7", ANSWER("3.7.1", "/none"));
	put(f, "bin/python3.14t", ANSWER("3.14.1", "/none"));
	put(f, "bin/python3.12-config", "exit 1"); /* no interpreter */
	find(f, "%s/bin");
	assert_int_equal(f->all.n, 4);
	assert_string_equal(f->all.v[0].version, "3.9.1");
	assert_string_equal(f->all.v[0].chosen_by, "python3 on the PATH");
	assert_ptr_equal(interpreters_default(&f->all), &f->all.v[0]);
	assert_string_equal(f->all.v[1].version, "3.14.1");
	assert_null(f->all.v[1].chosen_by);
	assert_string_equal(f->all.v[2].version, "3.12.1");
	assert_string_equal(f->all.v[3].version, "3.7.1");
	assert_false(f->all.v[3].is_supported);
}

static void nothing_is_found_where_nothing_is(void **state)
{
	struct folder *f = *state;

	find(f, ":.:relative:%s/bin:%s/none:");
	assert_int_equal(f->all.n, 0);
	assert_null(interpreters_default(&f->all));
}

static void a_script_that_picks_another_is_not_listed_twice(void **state)
{
	struct folder *f = *state;
	char pick[300];

	make_folder(f, "home/.pyenv");
	make_folder(f, "home/.pyenv/versions");
	make_folder(f, "home/.pyenv/versions/3.11.7");
	make_folder(f, "home/.pyenv/versions/3.11.7/bin");
	put(f, "home/.pyenv/versions/3.11.7/bin/python3.11", ANSWER("3.11.7", "$0"));
	link_to(f, "home/.pyenv/versions/3.11.7/bin/python3.11",
		"home/.pyenv/versions/3.11.7/bin/python3");
	snprintf(pick, sizeof pick, "exec %s/home/.pyenv/versions/3.11.7/bin/python3 \"$@\"",
		f->path);
	put(f, "shims/python3", pick);
	put(f, "shims/python3.11", "exit 3"); /* not run */
	find(f, "%s/shims:%s/bin");
	assert_int_equal(f->all.n, 1);
	assert_string_equal(f->all.v[0].version, "3.11.7");
	assert_non_null(strstr(f->all.v[0].path, "/versions/3.11.7/bin/python3"));
	assert_non_null(f->all.v[0].chosen_by);
}

static void links_lead_to_one(void **state)
{
	struct folder *f = *state;

	/* A program, not a script: only such are known by their file. */
	char target[200];

	snprintf(target, sizeof target, "%s/bin/python3.11", f->path);
	assert_int_equal(symlink("/bin/true", target), 0);
	link_to(f, "bin/python3.11", "bin/python3");
	find(f, "%s/bin");
	assert_int_equal(f->all.n, 1);
	assert_string_equal(f->all.v[0].reason, "it said nothing when asked for its version");
}

static void hanging_and_flooding_ones_are_ended(void **state)
{
	struct folder *f = *state;
	uint64_t begin_ns = clock_monotonic_ns();
	double took_s;

	put(f, "bin/python3", "trap '' TERM INT HUP; sleep 1000 & sleep 1000");
	put(f, "bin/python3.8", "while :; do echo garbage; done");
	put(f, "bin/python3.9", "cat; echo input ended");
	put(f, "bin/python3.10", "exec >&- 2>&-; sleep 1000");
	put(f, "bin/python3.11", ANSWER("3.11.1", "/none") "; sleep 1000");
	put(f, "bin/python3.12", "kill -SEGV $$");
	find(f, "%s/bin");
	took_s = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
	assert_true(took_s < 4.5);
	assert_int_equal(f->all.n, 6);
	assert_string_equal(f->all.v[0].reason, "it did not answer within 3 s");
	assert_string_equal(f->all.v[1].version, "3.11.1");
	for (size_t i = 2; i < 6; i++)
		assert_true(!f->all.v[i].is_supported && f->all.v[i].reason[0]);
}

static void what_others_may_change_is_not_run(void **state)
{
	struct folder *f = *state;
	char path[200];

	make_folder(f, "usr");
	make_folder(f, "usr/bin");
	put(f, "usr/bin/python3", ANSWER("3.11.1", "/none"));
	snprintf(path, sizeof path, "%s/usr/bin/python3", f->path);
	assert_int_equal(chmod(path, 0777), 0);
	find(f, "%s/bin");
	assert_int_equal(f->all.n, 1);
	assert_non_null(strstr(f->all.v[0].reason, "not run"));
	assert_null(f->all.v[0].chosen_by);
}

static void there_is_an_order_of_choice(void **state)
{
	struct folder *f = *state;
	char path[200], venv[200], conda[200], chosen[300];
	struct interpreter_places p = { .path = path, .conda_prefix = conda, .virtual_env = venv };
	const char *why;

	snprintf(path, sizeof path, "relative:%s/bin", f->path);
	snprintf(venv, sizeof venv, "%s/venv", f->path);
	snprintf(conda, sizeof conda, "%s/conda", f->path);
	assert_false(interpreter_choose(&p, chosen, sizeof chosen, &why));
	put(f, "bin/python3", "");
	assert_true(interpreter_choose(&p, chosen, sizeof chosen, &why));
	assert_string_equal(why, "python3 on the PATH");
	make_folder(f, "conda");
	make_folder(f, "conda/bin");
	put(f, "conda/bin/python", "");
	assert_true(interpreter_choose(&p, chosen, sizeof chosen, &why));
	assert_string_equal(why, "CONDA_PREFIX");
	make_folder(f, "venv");
	make_folder(f, "venv/bin");
	put(f, "venv/bin/python3", "");
	assert_true(interpreter_choose(&p, chosen, sizeof chosen, &why));
	assert_string_equal(why, "VIRTUAL_ENV");
	assert_non_null(strstr(chosen, "/venv/bin/python3"));
}

static void equal_files_are_one(void **state)
{
	struct interpreters all = { .v = xcalloc(5, sizeof *all.v), .n = 5 };
	static const ino_t inodes[] = { 7, 8, 7, 0, 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		all.v[i].path = xstrdup("x");
		all.v[i].ino = inodes[i];
		all.v[i].minor = (unsigned)i;
	}
	interpreters_deduplicate(&all);
	assert_int_equal(all.n, 4);
	assert_int_equal(all.v[0].minor, 0);
	assert_int_equal(all.v[1].minor, 1);
	assert_int_equal(all.v[2].minor, 3);
	interpreters_done(&all);
	interpreters_done(&all);
}

/* ---- privilege ------------------------------------------------------------------------------- */

static void status_is_parsed(void **state)
{
	struct privilege p = { .uid = 9, .capabilities = 1, .seccomp = SECCOMP_UNKNOWN };

	(void)state;
	privilege_parse_status("Name:\tCapEff:\nUid:\t1000\t1001\t1000\t1000\n"
			       "CapEff:\t000000c000080000\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		&p);
	assert_int_equal(p.uid, 1001);
	assert_int_equal(p.seccomp, SECCOMP_FILTERED);
	assert_true(privilege_has(&p, CAP_SYS_PTRACE));
	assert_true(privilege_has(&p, CAP_PERFMON) && privilege_has(&p, CAP_BPF));
	assert_true(privilege_has_bpf(&p) && privilege_has_perfmon(&p));
	assert_false(privilege_has(&p, CAP_SYS_ADMIN));
	p.capabilities = 1ull << CAP_SYS_ADMIN;
	assert_true(privilege_has_bpf(&p) && privilege_has_perfmon(&p));
}

static void damaged_status_changes_nothing(void **state)
{
	static const char *const bad[] = { "", "\n\n", "Uid:\nCapEff:\nSeccomp:\n", "Uid: x y\n",
		"Uid:\t1\nCapEff:\tzz\nSeccomp:\t77\n", "Uid:\t1\t-5\nCapEff:\t-1\nSeccomp:\t-1\n",
		"CapEff", "Uid:\t1\t99999999999999999999999\n" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct privilege p = { .uid = 9, .capabilities = 5, .seccomp = SECCOMP_UNKNOWN };

		privilege_parse_status(bad[i], &p);
		assert_int_equal(p.uid, 9);
		assert_int_equal(p.capabilities, 5);
		assert_int_equal(p.seccomp, SECCOMP_UNKNOWN);
	}
}

static void yama_is_parsed(void **state)
{
	(void)state;
	assert_int_equal(privilege_parse_yama("0\n"), 0);
	assert_int_equal(privilege_parse_yama("3"), 3);
	assert_int_equal(privilege_parse_yama("4\n"), YAMA_ABSENT);
	assert_int_equal(privilege_parse_yama("-1\n"), YAMA_ABSENT);
	assert_int_equal(privilege_parse_yama("1x\n"), YAMA_ABSENT);
	assert_int_equal(privilege_parse_yama(""), YAMA_ABSENT);
	assert_non_null(strstr(privilege_yama_meaning(1), "descendants"));
	assert_non_null(strstr(privilege_yama_meaning(YAMA_ABSENT), "no Yama"));
}

static void we_are_somebody(void **state)
{
	struct privilege p;

	(void)state;
	privilege_read(&p);
	assert_int_equal(p.uid, geteuid());
	assert_true(p.seccomp >= SECCOMP_UNKNOWN && p.seccomp <= SECCOMP_FILTERED);
	assert_in_range(p.yama_scope + 1, 0, 4);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_taken_apart),
		cmocka_unit_test(versions_have_bounds),
		cmocka_unit_test(garbage_is_no_answer),
		cmocka_unit_test(the_reason_quotes_the_last_line),
		cmocka_unit_test(any_bytes_are_survived),
		cmocka_unit_test(equal_files_are_one),
		in_folder(the_path_is_searched_newest_first),
		in_folder(nothing_is_found_where_nothing_is),
		in_folder(a_script_that_picks_another_is_not_listed_twice),
		in_folder(links_lead_to_one),
		in_folder(hanging_and_flooding_ones_are_ended),
		in_folder(what_others_may_change_is_not_run),
		in_folder(there_is_an_order_of_choice),
		cmocka_unit_test(status_is_parsed),
		cmocka_unit_test(damaged_status_changes_nothing),
		cmocka_unit_test(yama_is_parsed),
		cmocka_unit_test(we_are_somebody),
	};

	return cmocka_run_group_tests_name("interpreters", tests, NULL, NULL);
}
