/* SPDX-License-Identifier: MIT
 * estimate: windows with a known truth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/calls/estimate.h"
#include "wire/records.h"

/* Windows of 1 ms in which so many calls were seen, each costing so many ns. */
static struct rec_budget windows(const unsigned *calls, unsigned n, double cost_ns)
{
	struct rec_budget r = { .n_windows = n, .off_ns = 1000000000 };

	for (unsigned i = 0; i < n; i++) {
		double net = 1e6 - cost_ns * calls[i];

		r.window_ns += 1000000;
		r.window_cost_ns += (uint64_t)(cost_ns * calls[i]);
		r.calls += calls[i];
		r.self_ns += (uint64_t)(100 * calls[i]);
		r.calls_squared += (double)calls[i] * calls[i];
		r.calls_net += calls[i] * net;
		r.net_squared += net * net;
	}
	return r;
}

static void a_steady_rate_is_found(void **state)
{
	const unsigned calls[] = { 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000 };
	struct rec_budget r = windows(calls, 10, 0);
	struct estimate e = estimate_of(&r, &(struct estimate_call){ .inside_ns = 0 });

	(void)state;
	assert_true(fabs(e.calls - 990000) < 1); /* one per µs, outside of windows */
	assert_true(e.calls_low <= e.calls && e.calls <= e.calls_high);
	assert_true(e.calls_high - e.calls_low < 0.01 * e.calls);
	assert_true(fabs(e.self_s - 0.099) < 1e-6);
}

static void what_watching_cost_is_no_time_of_the_program(void **state)
{
	const unsigned calls[] = { 4000, 4000, 4000, 4000 };
	struct rec_budget r = windows(calls, 4, 50); /* a fifth of the time, or more */
	struct estimate e = estimate_of(&r, &(struct estimate_call){ .inside_ns = 50 }), free;

	(void)state;
	r = windows(calls, 4, 0);
	free = estimate_of(&r, &(struct estimate_call){ .inside_ns = 50 });
	assert_true(e.calls > 1.2 * free.calls && e.calls < 2 * free.calls);
	assert_true(e.calls_low > free.calls && e.calls_low < 0.95 * e.calls);
	assert_true(e.calls_high > 1.2 * e.calls);
	assert_true(fabs(e.self_s - e.calls * 5e-9) < 1e-6); /* 100 ns as stamped, less 1.9 × 50 */
	assert_true(e.self_low_s < e.self_s && e.self_high_s > e.calls * 50e-9);
}

static void windows_that_differ_say_less(void **state)
{
	const unsigned calls[] = { 0, 2000, 0, 2000, 0, 2000, 0, 2000 };
	struct rec_budget r = windows(calls, 8, 0);
	struct estimate e = estimate_of(&r, &(struct estimate_call){ .inside_ns = 0 });

	(void)state;
	assert_true(fabs(e.calls - 992000) < 1);
	assert_true(e.calls_low < 0.3 * e.calls && e.calls_high > 1.7 * e.calls);
}

static void without_windows_it_may_have_gone_on(void **state)
{
	struct rec_budget r = { .off_ns = 1000000000, .off_rate = 0.001 };
	struct estimate e = estimate_of(&r, &(struct estimate_call){ .inside_ns = 0 });

	(void)state;
	assert_true(fabs(e.calls - 1e6) < 1);
	assert_true(e.calls_low == 0 && isnan(e.calls_high));
}

static void too_few_windows_say_nothing(void **state)
{
	const unsigned calls[] = { 1000, 0, 0, 0 };
	struct rec_budget one = windows(calls, 1, 0), none = windows(calls + 1, 3, 0);
	struct estimate e = estimate_of(&one, &(struct estimate_call){ .inside_ns = 0 });

	(void)state;
	assert_true(isnan(e.calls_high) && e.calls == 0);
	e = estimate_of(&none, &(struct estimate_call){ .inside_ns = 0 });
	assert_true(e.calls == 0 && e.calls_low == 0 && isnan(e.calls_high));
}

static void a_spell_seen_once_says_how_many_at_least(void **state)
{
	const unsigned once[] = { 1000, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
		       often[] = { 9, 8, 0, 9, 9, 0, 7, 8 };
	struct rec_budget spell = windows(once, 10, 0), steady = windows(often, 8, 0);

	(void)state;
	assert_true(
		isnan(estimate_of(&spell, &(struct estimate_call){ .inside_ns = 0 }).calls_high));
	assert_false(
		isnan(estimate_of(&steady, &(struct estimate_call){ .inside_ns = 0 }).calls_high));
}

static void what_was_counted_all_the_time_is_exact(void **state)
{
	const unsigned calls[] = { 900, 1100, 1000, 1000 };
	struct rec_budget r = windows(calls, 4, 50);
	struct estimate e;

	(void)state;
	r.tells_blind = 1;
	r.counted = 123456;
	e = estimate_of(&r, &(struct estimate_call){ .inside_ns = 0 });
	assert_true(e.is_counted);
	assert_true(e.calls == 123456 && e.calls_low == 123456 && e.calls_high == 123456);
	assert_true(fabs(e.self_s - 0.0123456) < 1e-6); /* 100 ns each */
	r.blind_ns = 500000000;
	e = estimate_of(&r, &(struct estimate_call){ .inside_ns = 0 });
	assert_false(e.is_counted);
	assert_true(e.calls > 123456 + 500000 && e.calls_low >= 123456);
}

static void counted_without_windows_it_takes_as_long_as_before(void **state)
{
	struct rec_budget r = { .tells_blind = 1, .counted = 1000, .off_ns = 1000000 };
	struct estimate e = estimate_of(&r, &(struct estimate_call){ .own_ns = 2000 });

	(void)state;
	assert_true(e.is_counted && e.calls == 1000 && fabs(e.self_s - 0.002) < 1e-9);
	assert_true(isnan(e.self_high_s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_rate_is_found),
		cmocka_unit_test(what_watching_cost_is_no_time_of_the_program),
		cmocka_unit_test(windows_that_differ_say_less),
		cmocka_unit_test(too_few_windows_say_nothing),
		cmocka_unit_test(what_was_counted_all_the_time_is_exact),
		cmocka_unit_test(counted_without_windows_it_takes_as_long_as_before),
		cmocka_unit_test(without_windows_it_may_have_gone_on),
		cmocka_unit_test(a_spell_seen_once_says_how_many_at_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
