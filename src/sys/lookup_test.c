/* SPDX-License-Identifier: MIT */
#include "sys/lookup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define NAME_OF(words, comm) name_of(words, sizeof(words), comm)

static const char *name_of(const char *words, size_t n, const char *comm)
{
	static struct lookup_process p;

	lookup_name(words, n, comm, &p);
	return p.name;
}

static void test_scripts_and_modules(void **state)
{
	(void)state;
	assert_string_equal(NAME_OF("python3\0train.py\0--lr\0001", "python3"), "train.py");
	assert_string_equal(
		NAME_OF("/usr/bin/python3.12\0-u\0-X\0dev\0/x/y/train.py", "t"), "train.py");
	assert_string_equal(NAME_OF("python\0-m\0http.server\08000", "python"), "http.server");
	assert_string_equal(NAME_OF("python\0-c\0import this", "python"), "python");
	assert_string_equal(NAME_OF("python", "python"), "python");
	assert_string_equal(NAME_OF("python\0-m", "python"), "python");
	assert_string_equal(NAME_OF("pypy3\0a.py", "pypy3"), "a.py");
}

static void test_other_programs(void **state)
{
	struct lookup_process p;

	(void)state;
	assert_string_equal(NAME_OF("/bin/bash\0run.py", "bash"), "bash");
	assert_string_equal(NAME_OF("-bash", "bash"), "bash");
	assert_string_equal(NAME_OF("/", "x"), "/");
	lookup_name("", 0, "kworker/0:1", &p);
	assert_string_equal(p.name, "kworker/0:1");
	assert_false(p.is_python);
}

static void test_the_processes_of_this_machine(void **state)
{
	lookup_processes found = VEC_INIT;
	struct lookup_process p;

	(void)state;
	assert_true(lookup_pid(getpid(), &p));
	assert_non_null(strstr(p.name, "lookup"));
	lookup_all(p.name, &found);
	vec_each (&found, other)
		assert_int_not_equal(other->pid, getpid());
	vec_done(&found);
	assert_false(lookup_pid(1 << 30, &p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts_and_modules),
		cmocka_unit_test(test_other_programs),
		cmocka_unit_test(test_the_processes_of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
