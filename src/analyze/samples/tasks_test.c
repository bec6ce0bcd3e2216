/* SPDX-License-Identifier: MIT
 * Time of asyncio's tasks, on a recording made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/code/frames.h"
#include "analyze/samples/stacks_rig.h"
#include "analyze/samples/tasks.h"
#include "store/writer.h"
#include "wire/records.h"

static void turn(struct rig *m, uint64_t ms, size_t thread, const char *name)
{
	writer_add(m->w, RECORD_task,
		&(struct rec_task){ .t_ns = rig_ns(ms),
			.thread = m->threads[thread],
			.name = writer_string(m->w, name) });
}

static void each_sample_is_of_the_task_that_ran(void **state)
{
	const struct tasks *t;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "la", SAMPLE_ON_CPU);
	turn(&m, 0, 0, "Task-1");
	rig_sample(&m, 10, 0, "lb", 0);
	turn(&m, 20, 0, "Task-2");
	rig_sample(&m, 20, 0, "lc", SAMPLE_ON_CPU);
	rig_sample(&m, 20, 1, "lx", SAMPLE_ON_CPU); /* a thread without tasks */
	turn(&m, 30, 0, NULL);
	rig_sample(&m, 30, 0, "l", 0);
	rig_sample(&m, 90, 0, "l", 0);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	t = tasks_build(&m.arena, m.tables, m.stacks);
	assert_int_equal(t->n, 2);
	assert_string_equal(t->v[0].name, "Task-1");
	assert_int_equal(t->v[0].n_samples, 2);
	assert_float_equal(t->v[0].seconds, 0.015, 1e-9);
	assert_float_equal(t->v[0].cpu_s, 0.005, 1e-9);
	assert_string_equal(frames_function(m.stacks->frames, t->v[0].top_leaf)->name, "b");
	assert_string_equal(t->v[1].name, "Task-2");
	assert_float_equal(t->v[1].seconds, 0.010, 1e-9);
	assert_float_equal(t->other_s, 0.065, 1e-9);
	assert_int_equal(t->n_groups, 1); /* no event loop on the stacks: by name */
	assert_string_equal(t->groups[0].name, "Task-*");
	assert_int_equal(t->groups[0].n_tasks, 2);
	assert_int_equal(t->groups[0].n_samples, 3);
	assert_float_equal(t->groups[0].seconds, 0.025, 1e-9);
	assert_float_equal(t->groups[0].least_s, 0.010, 1e-9);
	assert_float_equal(t->groups[0].median_s, 0.0125, 1e-9);
	assert_float_equal(t->groups[0].most_s, 0.015, 1e-9);
	rig_done(&m);
}

static void a_recording_without_tasks_has_none(void **state)
{
	const struct tasks *t;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "la", SAMPLE_ON_CPU);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	t = tasks_build(&m.arena, m.tables, m.stacks);
	assert_int_equal(t->n, 0);
	assert_int_equal(t->n_groups, 0);
	assert_float_equal(t->other_s, 0, 1e-9);
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_is_of_the_task_that_ran),
		cmocka_unit_test(a_recording_without_tasks_has_none),
	};

	return cmocka_run_group_tests_name("tasks", tests, NULL, NULL);
}
