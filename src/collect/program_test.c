/* SPDX-License-Identifier: MIT
 * program_run with a collector of its own: whose time is counted as the program's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "base/err.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "store/writer.h"

static const uint64_t STOP_NS = 500000000;

static int start(void **ret_state, const struct collect_context *c, struct err *e)
{
	(void)c;
	(void)e;
	*ret_state = NULL;
	return 0;
}

static uint64_t drain(void *state, uint64_t now_ns)
{
	(void)state;
	return now_ns + 10000000;
}

/* As source files on a cold disk are. */
static void stop_slowly(void *state)
{
	(void)state;
	nanosleep(&(struct timespec){ .tv_nsec = (long)STOP_NS }, NULL);
}

static const struct collector slow = {
	.name = "slow", .start = start, .drain = drain, .stop = stop_slowly
};

static void what_we_do_after_its_end_is_not_the_programs_time(void **state)
{
	const struct collector *const one[] = { &slow };
	char name[] = "true", *argv[] = { name, NULL };
	struct program_options o = { .argv = argv, .collectors = one, .n_collectors = 1 };
	struct program_result result;
	struct err e = ERR_INIT;
	struct writer *w;

	(void)state;
	assert_int_equal(writer_open(&w, NULL, NULL, &e), 0);
	assert_int_equal(program_run(&o, w, &result, &e), 0);
	assert_true(result.has_ended);
	assert_true(result.wall_ns < STOP_NS);
	assert_true(result.recorded_ns < STOP_NS);
	assert_int_equal(writer_close(w, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_we_do_after_its_end_is_not_the_programs_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
