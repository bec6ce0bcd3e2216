/* SPDX-License-Identifier: MIT
 * stacks, profile and interval on hand-made recordings whose answers are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "analyze/samples/stacks_rig.h"
#include "analyze/stats/interval.h"
#include "wire/records.h"

static void assert_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		printf("got %g, want %g\n", got, want);
	assert_true(fabs(got - want) <= within);
}

static struct profile_cost cost_of(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if (strcmp(p->functions[i].name, name) == 0)
			return p->functions[i].cost;
	return (struct profile_cost){ 0 };
}

static void assert_counts(const struct profile *p, const char *name, uint64_t self, uint64_t total)
{
	struct profile_cost c = cost_of(p, name);

	assert_int_equal(c.self_n, self);
	assert_int_equal(c.total_n, total);
}

static void assert_interval(uint64_t hits, uint64_t n, double low, double high)
{
	struct interval of = interval_weighted(n ? (double)hits / (double)n : 0, (double)n);

	assert_near(of.low, low, 5e-5);
	assert_near(of.high, high, 5e-5);
}

static void intervals_are_wilsons(void **state)
{
	(void)state;
	assert_interval(10, 100, 0.0552, 0.1744);
	assert_interval(50, 100, 0.4038, 0.5962);
	assert_interval(0, 10, 0, 0.2775);
	assert_interval(10, 10, 0.7225, 1);
	assert_interval(1, 1, 0.2065, 1);
	assert_interval(0, 0, 0, 1);
}

static void shares_are_of_all_samples(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	for (uint64_t i = 0; i < 100; i++)
		rig_sample(&m, i, 0, i < 10 ? "mab" : i < 40 ? "ma" : "mc", SAMPLE_ON_CPU);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(p->n_samples, 100);
	assert_int_equal(m.stacks->n, 3);
	assert_counts(p, "m", 0, 100);
	assert_counts(p, "a", 30, 40);
	assert_counts(p, "b", 10, 10);
	assert_counts(p, "c", 60, 60);
	/* By weight: the first and the last sample have one neighbour only, and weigh half. */
	assert_near(cost_of(p, "b").self_value, 0.0095, 1e-9);
	assert_near(p->n_effective, 99 * 99 / 98.5, 1e-6);
	assert_near(cost_of(p, "b").self.low, 0.0522, 5e-5);
	assert_near(cost_of(p, "b").self.high, 0.1697, 5e-5);
	assert_string_equal(p->functions[0].name, "c"); /* by self time */
	assert_string_equal(p->functions[3].name, "m");
	rig_done(&m);
}

static void frames_come_leaf_first(void **state)
{
	static struct stack_frame frames[STACKS_DEPTH];
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "mab", 0);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(stacks_frames(m.stacks, 0, frames), 3);
	assert_string_equal(frames[0].name, "b");
	assert_string_equal(frames[1].name, "a");
	assert_string_equal(frames[2].name, "m");
	assert_int_equal(frames[2].first_line, 'm');
	assert_false(frames[0].is_synthetic);
	rig_done(&m);
}

static void recursion_counts_once_per_stack(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "mrrrr", 0);
	rig_sample(&m, 10, 0, "mrarr", 0);
	rig_sample(&m, 20, 0, "mrra", 0);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_counts(p, "r", 2, 3);
	assert_counts(p, "a", 1, 2);
	assert_near(cost_of(p, "r").total_value, 0.020, 1e-9);
	assert_near(cost_of(p, "m").total.high, 1, 1e-9);
	rig_done(&m);
}

static void samples_weigh_half_of_the_time_to_their_neighbours(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "a", 0);
	rig_sample(&m, 1, 1, "x", 0);
	rig_sample(&m, 5, 0, "a", 0);
	rig_sample(&m, 8, 0, "b", 0);
	rig_sample(&m, 101, 1, "x", 0);
	rig_sample(&m, 108, 0, "b", 0); /* the sampler was late */
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_near(cost_of(p, "a").self_value, 0.0065, 1e-9);
	assert_near(cost_of(p, "b").self_value, 0.1015, 1e-9);
	assert_near(cost_of(p, "x").self_value, 0.100, 1e-9);
	assert_near(p->value, 0.208, 1e-9);
	assert_counts(p, "a", 2, 2);
	assert_int_equal(m.stacks->n_threads, 2);
	assert_int_equal(m.stacks->threads[1].tid, 11);
	assert_int_equal(m.stacks->threads[1].pid, 10);
	assert_near(m.stacks->threads[1].value, 0.1, 1e-9);
	rig_done(&m);
}

static void a_cut_sample_is_never_self_time_of_the_frame_it_was_cut_at(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "ma", 0);
	rig_sample(&m, 10, 0, "ma!", 0);
	rig_sample(&m, 20, 0, "m!", 0);
	rig_sample(&m, 30, 0, "!", 0); /* not even the root */
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(m.stacks->n_shortened, 3);
	assert_int_equal(p->n_samples, 4);
	assert_counts(p, "m", 0, 3);
	assert_counts(p, "a", 1, 2);
	assert_counts(p, "[cut]", 3, 3);
	assert_near(cost_of(p, "a").self_value, 0.005, 1e-9); /* of the whole sample alone */
	assert_near(cost_of(p, "[cut]").self_value, 0.025, 1e-9);
	assert_string_equal(p->functions[0].name, "[cut]");
	assert_true(p->functions[0].is_synthetic);
	for (size_t i = 0; i < p->n_lines; i++)
		assert_string_equal(p->lines[i].file, "x.py"); /* [cut] has no line */
	rig_done(&m);
}

static void lost_samples_stay_in_the_denominator(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	for (uint64_t i = 0; i < 10; i++)
		rig_sample(&m, i, 0, "a", 0);
	rig_lose(&m, "sample", 60);
	rig_lose(&m, "event", 1000); /* of something else */
	rig_lose(&m, "sample", 30);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(m.stacks->n_samples, 10);
	assert_int_equal(m.stacks->n_lost, 90);
	assert_int_equal(p->n_samples, 100);
	/* a tenth of the time: nobody knows the rest */
	assert_near(cost_of(p, "a").self_value, 0.0009, 1e-9);
	assert_near(cost_of(p, "a").self.low, 0.0544, 5e-5);
	assert_near(cost_of(p, "a").self.high, 0.1766, 5e-5);
	rig_done(&m);
}

static void states_choose_samples_but_not_their_weights(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "a", SAMPLE_ON_CPU | SAMPLE_HOLDS_GIL);
	rig_sample(&m, 10, 0, "b", 0);
	rig_sample(&m, 30, 0, "c", SAMPLE_ON_CPU);
	rig_sample(&m, 60, 0, "d", SAMPLE_HOLDS_GIL);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ .state = STACKS_CPU });
	assert_int_equal(p->n_samples, 2);
	assert_counts(p, "a", 1, 1);
	assert_counts(p, "b", 0, 0);
	/* halves to b and d, which do not count */
	assert_near(cost_of(p, "c").self_value, 0.025, 1e-9);
	p = rig_profile_of(&m, (struct stacks_options){ .state = STACKS_GIL });
	assert_int_equal(p->n_samples, 2);
	assert_counts(p, "d", 1, 1);
	p = rig_profile_of(&m, (struct stacks_options){ .state = STACKS_WAIT });
	assert_int_equal(p->n_samples, 2);
	assert_counts(p, "b", 1, 1);
	assert_counts(p, "d", 1, 1);
	p = rig_profile_of(&m, (struct stacks_options){ .state = STACKS_WALL });
	assert_int_equal(p->n_samples, 4);
	assert_near(m.stacks->threads[0].all, 0.060, 1e-9);
	assert_near(m.stacks->threads[0].cpu_s, 0.030, 1e-9);
	assert_near(m.stacks->threads[0].gil_s, 0.020, 1e-9);
	rig_done(&m);
}

static void times_and_threads_choose_samples(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	for (uint64_t i = 0; i < 10; i++) {
		rig_sample(&m, i * 100, 0, "a", 0);
		rig_sample(&m, i * 100, 1, "b", 0);
	}
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ .from_s = 0.25, .to_s = 0.55 });
	assert_counts(p, "a", 3, 3);
	assert_near(p->value, 0.6, 1e-9);
	p = rig_profile_of(&m, (struct stacks_options){ .from_s = 0.75 });
	assert_counts(p, "a", 2, 2);
	p = rig_profile_of(&m,
		(struct stacks_options){ .threads = &m.stacks->threads[1].row, .n_threads = 1 });
	assert_counts(p, "a", 0, 0);
	assert_counts(p, "b", 10, 10);
	rig_done(&m);
}

static void no_samples_are_no_stacks(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(m.stacks->n, 0);
	assert_int_equal(p->n_functions, 0);
	assert_int_equal(p->n_samples, 0);
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_wilsons),
		cmocka_unit_test(shares_are_of_all_samples),
		cmocka_unit_test(frames_come_leaf_first),
		cmocka_unit_test(recursion_counts_once_per_stack),
		cmocka_unit_test(samples_weigh_half_of_the_time_to_their_neighbours),
		cmocka_unit_test(a_cut_sample_is_never_self_time_of_the_frame_it_was_cut_at),
		cmocka_unit_test(lost_samples_stay_in_the_denominator),
		cmocka_unit_test(states_choose_samples_but_not_their_weights),
		cmocka_unit_test(times_and_threads_choose_samples),
		cmocka_unit_test(no_samples_are_no_stacks),
	};

	return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
