/* SPDX-License-Identifier: MIT
 * What samples weigh where threads come and go and looks come late. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/code/frames.h"
#include "analyze/samples/stacks_rig.h"
#include "analyze/samples/thread_states.h"
#include "wire/records.h"

static double self_of(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if (strcmp(p->functions[i].name, name) == 0)
			return p->functions[i].cost.self_value;
	return 0;
}

static void assert_self(const struct profile *p, const char *name, double seconds)
{
	double got = self_of(p, name);

	if (fabs(got - seconds) > 1e-9)
		printf("%s: got %g, want %g\n", name, got, seconds);
	assert_true(fabs(got - seconds) <= 1e-9);
}

static double strip_sum(struct rig *m, size_t thread, uint8_t state)
{
	const struct thread_states *t =
		thread_states_build(&m->arena, m->tables, m->stacks->frames);
	double sums[STRIP_STATES_];

	thread_states_sums(&t->threads[thread], 0, UINT64_MAX, sums);
	return sums[state];
}

static void a_thread_that_calls_in_now_and_then_has_no_time_in_between(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 1, "z", 0);      /* where times begin */
	for (uint64_t i = 0; i < 5; i++) { /* 20 ms in every 200 ms */
		uint64_t at = i * 200;

		rig_came(&m, at + 10, 0, at + 9, false);
		rig_sample(&m, at + 10, 0, "s", SAMPLE_ON_CPU);
		rig_sample(&m, at + 20, 0, "s", SAMPLE_ON_CPU);
		rig_sample(&m, at + 29, 0, "s", SAMPLE_ON_CPU);
		rig_gone(&m, at + 30, 0, at + 29, false);
	}
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_self(p, "s", 5 * 0.020);
	assert_float_equal(strip_sum(&m, 1, STRIP_RUNNING), 0.1, 1e-9);
	assert_float_equal(strip_sum(&m, 1, STRIP_NONE), 4 * 0.180, 1e-9);
	rig_done(&m);
}

static void a_thread_that_is_seen_once_weighs_one_look(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_came(&m, 12, 0, 10, false);
	rig_sample(&m, 12, 0, "s", SAMPLE_ON_CPU);
	rig_gone(&m, 14, 0, 12, false);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_self(p, "s", 0.002);
	rig_done(&m);
}

static void exact_bounds_count_whole(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_came(&m, 12, 0, 4, true);
	rig_sample(&m, 12, 0, "a", SAMPLE_ON_CPU);
	rig_sample(&m, 22, 0, "b", SAMPLE_ON_CPU);
	rig_gone(&m, 40, 0, 31, true);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_self(p, "a", 0.013);
	assert_self(p, "b", 0.014);
	rig_done(&m);
}

static void what_ran_while_the_sampler_was_late_is_a_row_of_its_own(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "a", SAMPLE_ON_CPU);
	rig_sample(&m, 0, 1, "w", 0);
	rig_late(&m, 10, 100, false);
	rig_sample(&m, 100, 0, "b", SAMPLE_ON_CPU);
	rig_sample(&m, 100, 1, "w", 0);
	rig_sample(&m, 110, 0, "b", SAMPLE_ON_CPU);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_self(p, "a", 0.010);
	assert_self(p, "b", 0.010);
	assert_self(p, "[sampler late]", 0.090);
	assert_self(p, "w", 0.100); /* it slept */
	assert_float_equal(p->value, 0.210, 1e-9);
	assert_float_equal(strip_sum(&m, 0, STRIP_LATE), 0.090, 1e-9);
	/* Neither on a CPU nor waiting. */
	p = rig_profile_of(&m, (struct stacks_options){ .state = STACKS_CPU });
	assert_float_equal(p->value, 0.020, 1e-9);
	p = rig_profile_of(&m, (struct stacks_options){ .state = STACKS_WAIT });
	assert_float_equal(p->value, 0.100, 1e-9);
	p = rig_profile_of(&m, (struct stacks_options){ .from_s = 0.2 });
	assert_float_equal(p->value, 0, 1e-9);
	rig_done(&m);
}

static void a_job_that_was_stopped_did_not_run(void **state)
{
	struct rig m;

	(void)state;
	for (int ran = 0; ran < 2; ran++) {
		const struct profile *p;

		rig_begin(&m);
		rig_account(&m, 0, 0);
		rig_sample(&m, 90, 0, "a", SAMPLE_ON_CPU);
		rig_account(&m, 100, 100);
		rig_late(&m, 110, 2110, true);
		rig_sample(&m, 2110, 0, "a", SAMPLE_ON_CPU);
		rig_account(&m, 2110, ran ? 2110 : 110);
		rig_finish(&m);
		p = rig_profile_of(&m, (struct stacks_options){ 0 });
		assert_self(p, ran ? "[sampler late]" : "[stopped]", 2);
		assert_self(p, "a", 0.020);
		rig_done(&m);
	}
}

/* ---- on a CPU, or waiting for one ------------------------------------------------------------ */

static double value_in(struct rig *m, enum stacks_state state)
{
	return rig_profile_of(m, (struct stacks_options){ .state = state })->value;
}

static void the_kernels_figures_part_running_from_being_ready(void **state)
{
	struct rig m;

	(void)state;
	rig_begin(&m);
	for (uint64_t i = 0; i < 2; i++)
		rig_usage(&m, 1, i, 0, 0);
	for (uint64_t ms = 0; ms <= 200; ms += 10) {
		rig_sample(&m, ms, 0, "a", SAMPLE_ON_CPU);
		rig_sample(&m, ms, 1, "b", ms <= 100 ? 0 : SAMPLE_ON_CPU);
		rig_sample(&m, ms, 2, "c", SAMPLE_ON_CPU); /* has no figures: its process's */
	}
	rig_usage(&m, 105, 0, 25, 75);
	rig_usage(&m, 205, 0, 125, 75);
	rig_usage(&m, 205, 1, 50, 50);
	rig_finish(&m);
	/* a: 105 ms at a quarter, then 95 ms whole; b: 95 ms at a half; c: 105 ms at a quarter, 95 at 150 of 200. */
	assert_float_equal(
		value_in(&m, STACKS_CPU), (0.02625 + 0.095) + 0.0475 + (0.02625 + 0.07125), 1e-9);
	assert_float_equal(
		value_in(&m, STACKS_RUNNABLE), 0.2 + 0.095 + 0.2 - value_in(&m, STACKS_CPU), 1e-9);
	assert_float_equal(value_in(&m, STACKS_WAIT), 0.105, 1e-9);
	assert_float_equal(value_in(&m, STACKS_WALL), 0.6, 1e-9);
	assert_float_equal(m.stacks->threads[0].cpu_s, 0.12125, 1e-9);
	assert_float_equal(m.stacks->threads[0].runnable_s, 0.07875, 1e-9);
	rig_done(&m);
}

static void without_figures_what_runs_is_on_a_cpu(void **state)
{
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "a", SAMPLE_ON_CPU);
	rig_sample(&m, 10, 0, "a", SAMPLE_ON_CPU);
	rig_finish(&m);
	assert_float_equal(value_in(&m, STACKS_CPU), 0.010, 1e-9);
	assert_float_equal(value_in(&m, STACKS_RUNNABLE), 0, 1e-9);
	assert_int_equal(m.stacks->n, 0);
	rig_done(&m);
}

/* One comes at each look, for 7.5 ms: 750 ms in all. */
static void short_threads(struct rig *m, size_t thread, const char *chain, int bits)
{
	for (uint64_t ms = 0; ms <= 1000; ms += 10) {
		rig_came(m, ms, thread, ms ? ms - 10 : 0, false);
		rig_sample(m, ms, thread, chain, bits);
		rig_gone(m, ms + 5, thread, ms, false);
	}
}

static void short_threads_have_what_is_left_of_the_process_s_clock(void **state)
{
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_usage(&m, 1, 0, 0, 0);
	rig_account(&m, 1, 0);
	for (uint64_t ms = 0; ms <= 1000; ms += 10)
		rig_sample(&m, ms, 0, "a", SAMPLE_ON_CPU);
	short_threads(&m, 1, "b", SAMPLE_ON_CPU);
	rig_usage(&m, 1001, 0, 200, 800); /* the main thread waits for a CPU, */
	/* the short ones (750 ms) do so for a tenth of the time */
	rig_account(&m, 1001, 200 + 675);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ .state = STACKS_CPU });
	assert_float_equal(m.stacks->threads[0].cpu_s, 0.2, 5e-3);
	assert_float_equal(m.stacks->threads[1].cpu_s / m.stacks->threads[1].all, 0.9, 0.01);
	rig_done(&m);
}

static void who_held_the_gil_had_a_cpu_before_who_was_ready_without_it(void **state)
{
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_usage(&m, 1, 0, 0, 0);
	rig_account(&m, 1, 0);
	short_threads(&m, 1, "a", SAMPLE_ON_CPU | SAMPLE_HOLDS_GIL);
	short_threads(&m, 2, "b", SAMPLE_ON_CPU);
	rig_usage(&m, 1001, 0, 0, 0);
	rig_account(&m, 1001, 900); /* each was there for 750 ms */
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ .state = STACKS_CPU });
	assert_float_equal(m.stacks->threads[0].cpu_s / m.stacks->threads[0].all, 1, 0.01);
	assert_float_equal(m.stacks->threads[1].cpu_s / m.stacks->threads[1].all, 0.2, 0.01);
	rig_done(&m);
}

static void a_thread_is_not_given_more_than_its_clock_says(void **state)
{
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_usage(&m, 1, 0, 0, 0);
	for (uint64_t ms = 0; ms <= 1000; ms += 10)
		rig_sample(&m, ms, 0, "a", SAMPLE_ON_CPU); /* whenever we looked, it ran */
	rig_usage(&m, 1001, 0, 400, 400);
	rig_finish(&m);
	assert_float_equal(value_in(&m, STACKS_CPU), 0.4, 6e-3);
	rig_done(&m);
}

static void what_a_clock_says_beyond_the_samples_was_used_while_nobody_looked(void **state)
{
	for (uint64_t cpu_ms = 500; cpu_ms <= 1100; cpu_ms += 300) {
		struct rig m;

		(void)state;
		rig_begin(&m);
		rig_usage(&m, 1, 0, 0, 0);
		for (uint64_t ms = 0; ms <= 1000; ms += 10)
			if (ms <= 200 || ms >= 600)
				rig_sample(&m, ms, 0, "a", SAMPLE_ON_CPU);
		rig_late(&m, 200, 600, false);
		rig_usage(&m, 1001, 0, cpu_ms, 0);
		rig_finish(&m);
		/* 600 ms were seen and 400 were not: none, half or all of these it was on a CPU. */
		assert_float_equal(value_in(&m, STACKS_CPU),
			cpu_ms < 600            ? 0.5
				: cpu_ms > 1000 ? 1
						: 0.8,
			6e-3);
		assert_float_equal(
			self_of(rig_profile_of(&m, (struct stacks_options){ .state = STACKS_CPU }),
				"[sampler late]"),
			cpu_ms < 600            ? 0
				: cpu_ms > 1000 ? 0.4
						: 0.2,
			6e-3);
		assert_float_equal(value_in(&m, STACKS_WAIT), 0, 1e-9);
		rig_done(&m);
	}
}

/* ---- nothing is lost and nothing made up ----------------------------------------------------- */

static uint64_t upto(unsigned *seed, uint64_t most)
{
	return (uint64_t)rand_r(seed) % (most + 1);
}

/* One thread's lives; adds what they last, in half milliseconds, by the rule of weights.h. */
static uint64_t live_some_lives(struct rig *m, size_t thread, unsigned *seed)
{
	static const char *const chains[] = { "a", "ab", "w" };
	uint64_t now = 2 * upto(seed, 10), sum = 0;

	for (uint64_t lives = 1 + upto(seed, 4); lives; lives--) {
		uint64_t bound = now, begin, end;
		bool is_exact = upto(seed, 1);

		now += 2 * upto(seed, 20);
		rig_came(m, now, thread, bound, is_exact);
		begin = is_exact ? 2 * bound : bound + now;
		for (uint64_t n = 1 + upto(seed, 8); n; n--) {
			rig_sample(m, now, thread, chains[upto(seed, 2)],
				upto(seed, 1) ? SAMPLE_ON_CPU : 0);
			bound = now;
			now += 2 + 2 * upto(seed, 30); /* a look that finds it gone comes later */
		}
		bound += upto(seed, (now - bound) / 2) * 2;
		is_exact = upto(seed, 1);
		rig_gone(m, now, thread, bound, is_exact);
		end = is_exact ? 2 * bound : bound + now;
		sum += end - begin;
		now += 2 * upto(seed, 40);
	}
	return sum;
}

static void weights_add_up_to_the_time_threads_were_there(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		unsigned seed = round;
		struct rig m;
		double sum = 0, strips = 0;
		const struct profile *p, *on_cpu;

		rig_begin(&m);
		rig_sample(&m, 0, 0, "z", 0); /* where times begin: it weighs nothing */
		for (uint64_t at = 0; at < 1500;) {
			uint64_t since = at + upto(&seed, 50);

			at = since + 1 + upto(&seed, 60);
			rig_late(&m, since, at, upto(&seed, 1));
			rig_account(&m, at, at / (1 + upto(&seed, 3)));
		}
		for (size_t i = 0; i < RIG_THREADS; i++)
			sum += (double)live_some_lives(&m, i, &seed) / 2e3;
		rig_finish(&m);
		p = rig_profile_of(&m, (struct stacks_options){ 0 });
		assert_float_equal(p->value, sum, 1e-9);
		for (size_t i = 0; i < RIG_THREADS; i++)
			for (uint8_t k = STRIP_NONE + 1; k < STRIP_STATES_; k++)
				strips += strip_sum(&m, i, k);
		assert_float_equal(strips, sum, 1e-9);
		sum = p->value;
		on_cpu = rig_profile_of(&m, (struct stacks_options){ .state = STACKS_CPU });
		sum -= on_cpu->value - self_of(on_cpu, "[sampler late]");
		sum -= rig_profile_of(&m, (struct stacks_options){ .state = STACKS_WAIT })->value;
		sum -= rig_profile_of(&m, (struct stacks_options){ .state = STACKS_RUNNABLE })
			       ->value;
		sum -= self_of(p, "[sampler late]") + self_of(p, "[stopped]");
		assert_float_equal(sum, 0, 1e-9);
		rig_done(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_calls_in_now_and_then_has_no_time_in_between),
		cmocka_unit_test(a_thread_that_is_seen_once_weighs_one_look),
		cmocka_unit_test(exact_bounds_count_whole),
		cmocka_unit_test(what_ran_while_the_sampler_was_late_is_a_row_of_its_own),
		cmocka_unit_test(a_job_that_was_stopped_did_not_run),
		cmocka_unit_test(the_kernels_figures_part_running_from_being_ready),
		cmocka_unit_test(without_figures_what_runs_is_on_a_cpu),
		cmocka_unit_test(short_threads_have_what_is_left_of_the_process_s_clock),
		cmocka_unit_test(who_held_the_gil_had_a_cpu_before_who_was_ready_without_it),
		cmocka_unit_test(a_thread_is_not_given_more_than_its_clock_says),
		cmocka_unit_test(what_a_clock_says_beyond_the_samples_was_used_while_nobody_looked),
		cmocka_unit_test(weights_add_up_to_the_time_threads_were_there),
	};

	return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
