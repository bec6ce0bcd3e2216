/* SPDX-License-Identifier: MIT
 * agent_options: what is let through and what is not, field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/agent_options.h"

static void what_commands_ask_for_is_good(void **state)
{
	static const struct agent_options good[] = {
		{ 0 },
		{ .calls = AGENT_CALLS_TIMED },
		{ .calls = AGENT_CALLS_COUNTED, .wants_args = 1 },
		{ .calls = AGENT_CALLS_COUNTED, .wants_line_hits = 1, .wants_opcodes = 1 },
		{ .calls = AGENT_CALLS_TIMED, .wants_timeline = 1 },
		{ .calls = AGENT_CALLS_TIMED, .wants_timeline = 1, .timeline_min_ns = UINT32_MAX },
		{ .calls = AGENT_CALLS_TIMED, .budget_pct = 1, .wants_torch = 1 },
		{ .calls = AGENT_CALLS_TIMED, .budget_pct = AGENT_BUDGET_PCT_MAX },
		{ .wants_line_times = 1 },
		{ .wants_torch = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_null(agent_options_problem(&good[i]));
}

static void what_makes_no_sense_is_named(void **state)
{
	static const struct {
		const char *field;
		struct agent_options o;
	} bad[] = {
		{ "calls", { .calls = AGENT_CALLS_TIMED + 1 } },
		{ "wants_timeline", { .wants_timeline = 1 } },
		{ "wants_timeline", { .calls = AGENT_CALLS_COUNTED, .wants_timeline = 1 } },
		{ "wants_timeline", { .calls = AGENT_CALLS_TIMED, .wants_timeline = 2 } },
		{ "wants_args", { .wants_args = 1 } },
		{ "wants_args", { .calls = AGENT_CALLS_TIMED, .wants_args = 2 } },
		{ "budget_pct", { .budget_pct = 1 } },
		{ "budget_pct", { .calls = AGENT_CALLS_COUNTED, .budget_pct = 10 } },
		{ "budget_pct", { .calls = AGENT_CALLS_TIMED, .budget_pct = 101 } },
		{ "timeline_min_ns", { .calls = AGENT_CALLS_TIMED, .timeline_min_ns = 1 } },
		{ "wants_line_times", { .wants_line_times = 2 } },
		{ "wants_line_hits", { .wants_line_hits = 0xff } },
		{ "wants_opcodes", { .wants_opcodes = 2 } },
		{ "wants_torch", { .wants_torch = 2 } },
		{ "memory_period_bytes", { .memory_period_bytes = AGENT_MEMORY_PERIOD_MAX + 1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_non_null(agent_options_problem(&bad[i].o));
		assert_string_equal(agent_options_problem(&bad[i].o), bad[i].field);
	}
}

/* A byte that means nothing yet may mean something to whoever wrote it. */
static void every_spare_byte_is_looked_at(void **state)
{
	(void)state;
	for (size_t i = offsetof(struct agent_options, reserved);
		i < offsetof(struct agent_options, memory_period_bytes); i++) {
		struct agent_options o = { .calls = AGENT_CALLS_TIMED };

		((unsigned char *)&o)[i] = 1;
		assert_string_equal(agent_options_problem(&o), "reserved");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_commands_ask_for_is_good),
		cmocka_unit_test(what_makes_no_sense_is_named),
		cmocka_unit_test(every_spare_byte_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
