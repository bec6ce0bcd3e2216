/* SPDX-License-Identifier: MIT
 * clocksource: the counter only where CPU and kernel agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sys/clocksource.h"

#if defined(__aarch64__)
#define COUNTER "arch_sys_counter"
#else
#define COUNTER "tsc"
#endif

static void decision_wants_both(void **state)
{
	const char *reason = "";

	(void)state;
	assert_int_equal(clock_decide(true, COUNTER, &reason), CLOCK_MODE_TSC);
	assert_non_null(strstr(reason, "steady"));
	assert_int_equal(clock_decide(false, COUNTER, &reason), CLOCK_MODE_MONOTONIC);
	assert_non_null(strstr(reason, "CPU does not"));
	assert_int_equal(clock_decide(true, "hpet", &reason), CLOCK_MODE_MONOTONIC);
	assert_int_equal(clock_decide(true, COUNTER "-early", NULL), CLOCK_MODE_MONOTONIC);
	assert_int_equal(clock_decide(true, "", &reason), CLOCK_MODE_MONOTONIC);
	assert_non_null(strstr(reason, "unknown"));
}

static void this_machine_gets_an_answer_with_a_reason(void **state)
{
	const char *reason = NULL;
	enum clock_mode mode = clock_choose(&reason);

	(void)state;
	assert_non_null(reason);
	if (!clock_has_steady_ticks())
		assert_int_equal(mode, CLOCK_MODE_MONOTONIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decision_wants_both),
		cmocka_unit_test(this_machine_gets_an_answer_with_a_reason),
	};

	return cmocka_run_group_tests_name("clocksource", tests, NULL, NULL);
}
