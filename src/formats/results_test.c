/* SPDX-License-Identifier: MIT
 * Stored benchmark results: the three files as their tools write them, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "formats/format.h"
#include "formats/results.h"

struct opened {
	struct arena a;
	struct results r;
	struct err e;
	int status;
};

static int file_of(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static struct opened opened(const char *text)
{
	struct opened o = { .a = ARENA_INIT };

	o.status = results_read_fd(&o.a, file_of(text), "x.json", &o.r, &o.e);
	return o;
}

static const char pyperf[] =
	"{\"benchmarks\":[{\"metadata\":{\"name\":\"a\",\"loops\":8},\"runs\":["
	"{\"metadata\":{\"date\":\"2026-01-31 12:00:00.500000\"},\"warmups\":[[1,9.0],[2,8.0]]},"
	"{\"metadata\":{\"mem_max_rss\":4096},\"values\":[1.5,2.5],\"warmups\":[[8,7.0]]},{\"values\":[3]}]},"
	"{\"runs\":[{\"metadata\":{\"loops\":2},\"values\":[0.25]}]}],\"metadata\":{\"name\":\"b\",\"loops\":16,\"hostname\":\"h\",\"cpu_model_name\":\"c\","
	"\"python_implementation\":\"cpython\",\"python_version\":\"3.13.0 (64-bit)\","
	"\"commit_id\":\"abc\",\"unit\":\"second\",\"timer\":{\"x\":[1,{\"name\":2}]}},\"version\":\"1.0\"}";

static void pyperf_runs_are_processes(void **state)
{
	struct opened o = opened(pyperf);
	const struct series *s = &o.r.v[0].series;

	(void)state;
	assert_int_equal(o.status, 0);
	assert_string_equal(o.r.format, "pyperf");
	assert_int_equal(o.r.n, 2);
	assert_string_equal(s->name, "a");
	assert_false(s->is_command);
	assert_int_equal(s->n, 2); /* the first run only calibrated */
	assert_int_equal(s->processes[0].n, 3);
	assert_int_equal(s->processes[0].n_warmup, 1);
	assert_true(s->processes[0].v[0].seconds == 7.0 && s->processes[0].v[2].seconds == 2.5);
	assert_int_equal(s->processes[0].loops, 8);
	assert_int_equal(s->processes[0].max_rss_bytes, 4096);
	assert_true(series_summarise(&o.a, s).d.median == 2.5);
	arena_done(&o.a);
}

static void what_pyperf_says_of_all_counts_for_each(void **state)
{
	struct opened o = opened(pyperf);

	(void)state;
	assert_string_equal(o.r.v[1].series.name, "b");
	assert_int_equal(o.r.v[1].series.processes[0].loops, 2);
	assert_int_equal(o.r.v[0].unit, UNIT_SECONDS);
	assert_string_equal(o.r.python, "cpython 3.13.0 (64-bit)");
	assert_string_equal(o.r.host, "h");
	assert_string_equal(o.r.cpu, "c");
	assert_string_equal(o.r.commit, "abc");
	assert_true(o.r.begun_s == 1769860800.5);
	assert_ptr_equal(results_find(&o.r, "b"), &o.r.v[1]);
	assert_null(results_find(&o.r, "c"));
	arena_done(&o.a);
}

static void pytest_tests_of_one_name_are_told_apart(void **state)
{
	struct opened o = opened(
		"{\"machine_info\":{\"node\":\"h\",\"cpu\":{\"brand_raw\":\"c\"}},\"benchmarks\":["
		"{\"name\":\"t\",\"fullname\":\"a.py::t\",\"stats\":{\"data\":[1,2],\"iterations\":5}},"
		"{\"name\":\"t\",\"fullname\":\"b.py::t\",\"stats\":{\"data\":[3],\"iterations\":1}},"
		"{\"name\":\"u\",\"fullname\":\"b.py::u\",\"stats\":{\"data\":[4],\"iterations\":1}}],\"datetime\":\"2026-01-31T13:00:00+01:00\"}");

	(void)state;
	assert_int_equal(o.status, 0);
	assert_string_equal(o.r.format, "pytest-benchmark");
	assert_string_equal(o.r.v[0].series.name, "a.py::t");
	assert_string_equal(o.r.v[1].series.name, "b.py::t");
	assert_string_equal(o.r.v[2].series.name, "u");
	assert_int_equal(o.r.v[0].series.n, 1);
	assert_int_equal(o.r.v[0].series.processes[0].n, 2);
	assert_int_equal(o.r.v[0].series.processes[0].loops, 5);
	assert_true(o.r.begun_s == 1769860800);
	arena_done(&o.a);
}

static void hyperfine_runs_are_processes(void **state)
{
	struct opened o = opened(
		"{\"results\":[{\"command\":\"ls\",\"mean\":2,\"user\":0.5,\"system\":0.25,"
		"\"times\":[1,3],\"memory_usage_byte\":[100,200],\"exit_codes\":[null,1]}]}");
	const struct series *s = &o.r.v[0].series;

	(void)state;
	assert_int_equal(o.status, 0);
	assert_string_equal(o.r.format, "hyperfine");
	assert_true(s->is_command);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->processes[1].max_rss_bytes, 200);
	assert_int_equal(s->processes[1].exit_status, 1);
	assert_true(series_summarise(&o.a, s).user_s == 0.5);
	assert_true(series_summarise(&o.a, s).system_s == 0.25);
	arena_done(&o.a);
}

static void refused(const char *text, const char *why)
{
	struct opened o = opened(text);

	assert_true(o.status < 0);
	assert_int_equal(o.e.code, ERR_BAD_FILE);
	if (!strstr(o.e.text, why))
		print_message("%s\n", o.e.text);
	assert_non_null(strstr(o.e.text, why));
	arena_done(&o.a);
}

static void what_makes_no_sense_is_refused_in_one_line(void **state)
{
	(void)state;
	refused("", "no results of leadline bench");
	refused("{\"results\":[1]}", "no results of leadline bench");
	refused("{\"benchmarks\":[]}", "it holds no benchmarks");
	refused("{\"benchmarks\":[{\"runs\":[]}]}", "byte 26: a benchmark without its values");
	refused("{\"machine_info\":{},\"benchmarks\":[{\"stats\":{\"min\":1}}]}",
		"--benchmark-save-data");
	refused("{\"benchmarks\":[{\"runs\":[{\"values\":[-1]}]}]}", "negative");
	refused("{\"benchmarks\":[{\"runs\":[{\"values\":[1e999]}]}]}", "far too large");
	refused("{\"benchmarks\":[{\"runs\":[{\"values\":[\"1\",null]}]}]}", "expected a number");
	refused("{\"benchmarks\":[{\"runs\":[{\"values\":[1", "but the input ends");
	/* keys that look like paths */
	refused("{\"benchmarks\":1,\"benchmarks[].name\":\"x\",\"benchmarks[]\":{}}",
		"it holds no benchmarks");
}

static void other_commands_are_told_what_it_is(void **state)
{
	(void)state;
	assert_true(results_recognise(pyperf, sizeof pyperf - 1));
	for (size_t i = 0; i < n_formats; i++)
		assert_false(
			formats[i]->recognise && formats[i]->recognise(pyperf, sizeof pyperf - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pyperf_runs_are_processes),
		cmocka_unit_test(what_pyperf_says_of_all_counts_for_each),
		cmocka_unit_test(pytest_tests_of_one_name_are_told_apart),
		cmocka_unit_test(hyperfine_runs_are_processes),
		cmocka_unit_test(what_makes_no_sense_is_refused_in_one_line),
		cmocka_unit_test(other_commands_are_told_what_it_is),
	};

	return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
