/* SPDX-License-Identifier: MIT
 * The parsers of /proc, on texts a hostile process could make. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "sys/cpus.h"
#include "sys/elf.h"
#include "sys/proc.h"

static void stat_is_parsed(void **state)
{
	static const char text[] =
		"77 (py) S 5 77 77 0 -1 4194304 120 7 3 0 150 25 30 40 20 0 4 0 1000 123456 300 18446744073709551615 1 1 0";
	struct proc_stat st;

	(void)state;
	assert_true(proc_stat_parse(text, &st));
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.parent, 5);
	assert_int_equal(st.minor_faults, 120);
	assert_int_equal(st.major_faults, 3);
	assert_int_equal(st.user_ns, 1500000000);
	assert_int_equal(st.system_ns, 250000000);
	assert_int_equal(st.children_user_ns, 300000000);
	assert_int_equal(st.n_threads, 4);
	assert_int_equal(st.start_ns, 10000000000);
	assert_int_equal(st.rss_bytes, 300 * sysconf(_SC_PAGESIZE));
}

/* A process may call itself anything: the last ")" ends the name. */
static void a_name_cannot_forge_the_fields(void **state)
{
	static const char text[] =
		"77 (x) R 1 (y) D 5 1 1 0 -1 0 1 0 1 0 1 1 1 1 20 0 1 0 10 1 1 1";
	struct proc_stat st;

	(void)state;
	assert_true(proc_stat_parse(text, &st));
	assert_int_equal(st.state, 'D');
	assert_int_equal(st.parent, 5);
	assert_string_equal(st.name, "x) R 1 (y");
}

static void broken_texts_are_refused(void **state)
{
	static const char *const texts[] = { "", "1", "1 (x", "1 (x)", "1 (x) ", "1 (x) R",
		"1 (x) R 1 2 3", ")(", "1 (x) R a b c d e f g h i j k l m n o p q r s t u v w" };
	struct proc_stat st;
	struct proc_sched sched;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_false(proc_stat_parse(texts[i], &st));
	assert_false(proc_sched_parse("12", &sched));
	assert_true(proc_sched_parse("12 34 5\n", &sched));
	assert_int_equal(sched.queue_ns, 34);
}

static void fields_are_found_by_their_whole_name(void **state)
{
	static const char text[] = "Name:\tx\nrchar: 5\nxrchar: 6\nPss:   12 kB\nempty:\n";
	struct proc_io io;

	(void)state;
	assert_int_equal(proc_field(text, "rchar"), 5);
	assert_int_equal(proc_field(text, "Pss"), 12);
	assert_int_equal(proc_field(text, "char"), PROC_UNKNOWN);
	assert_int_equal(proc_field(text, "Name"), PROC_UNKNOWN);
	proc_io_parse(text, &io);
	assert_int_equal(io.read_chars, 5);
	assert_int_equal(io.write_bytes, PROC_UNKNOWN);
}

static void our_own_process_can_be_read(void **state)
{
	char text[4096], command[256];
	struct proc_stat st;

	(void)state;
	assert_true(proc_read(text, sizeof text, "/proc/self/stat") > 0);
	assert_true(proc_stat_parse(text, &st));
	assert_int_equal(st.parent, getppid());
	assert_true(proc_command(getpid(), command, sizeof command));
	assert_non_null(strstr(command, "test_sys_proc"));
	assert_false(proc_command(0x7ffffff0, command, sizeof command));
	assert_true(proc_read(text, sizeof text, "/proc/no/such") < 0);
}

static void quotas(void **state)
{
	struct cpus c = cpus_read();

	(void)state;
	assert_true(fabs(cpus_parse_max("50000 100000\n") - 0.5) < 1e-9);
	assert_true(isinf(cpus_parse_max("max 100000\n")));
	assert_true(isinf(cpus_parse_max("-1 100000\n")));
	assert_true(isinf(cpus_parse_max("")));
	assert_true(c.online >= 1 && c.affinity >= 1 && c.allowed > 0 && c.allowed <= c.online);
}

static bool exports(const char *path, const char *symbol)
{
	struct err e = ERR_INIT;
	struct elf_range range;
	struct elf_file f;
	bool found;

	if (elf_file_open(&f, path, &e) < 0)
		return false;
	found = elf_find_export(&f, symbol, &range);
	elf_file_close(&f);
	return found;
}

static void exported_symbols(void **state)
{
	(void)state;
	assert_true(exports("/lib/x86_64-linux-gnu/libc.so.6", "printf") ||
		exports("/lib/aarch64-linux-gnu/libc.so.6", "printf"));
	assert_false(exports("/lib/x86_64-linux-gnu/libc.so.6", "_PyRuntime"));
	assert_false(exports("/etc/passwd", "printf"));
	assert_false(exports("/nonexistent", "printf"));
	assert_false(exports("/proc/self", "printf"));
	assert_int_equal(elf_process_python(getpid()), ELF_NO_PYTHON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_is_parsed),
		cmocka_unit_test(a_name_cannot_forge_the_fields),
		cmocka_unit_test(broken_texts_are_refused),
		cmocka_unit_test(fields_are_found_by_their_whole_name),
		cmocka_unit_test(our_own_process_can_be_read),
		cmocka_unit_test(quotas),
		cmocka_unit_test(exported_symbols),
	};

	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
