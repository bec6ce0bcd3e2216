/* SPDX-License-Identifier: MIT
 * Flame trees, shapes and time lines on hand-made recordings whose answers are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/samples/flametree.h"
#include "analyze/samples/stack_filter.h"
#include "analyze/samples/stacks_rig.h"
#include "analyze/samples/thread_states.h"
#include "base/err.h"

/* 1 ms each, all in one thread; the first and the last sample weigh half. */
static void record(struct rig *m, const char *const *chains, size_t n)
{
	rig_begin(m);
	for (size_t i = 0; i < n; i++)
		rig_sample(m, 10 + i, 0, chains[i], SAMPLE_ON_CPU);
	rig_finish(m);
	rig_profile_of(m, (struct stacks_options){ 0 });
}

static const char *name_of(const struct rig *m, const struct flametree *t, uint32_t node)
{
	return frames_function(m->stacks->frames, t->function[node])->name;
}

static uint32_t child(
	const struct rig *m, const struct flametree *t, uint32_t parent, const char *name)
{
	for (uint32_t i = parent + 1; i < t->end[parent]; i = t->end[i])
		if (strcmp(name_of(m, t, i), name) == 0)
			return i;
	fail_msg("no child %s", name);
	return 0;
}

static void a_tree_lies_in_depth_first_order_and_adds_up(void **state)
{
	static const char *const chains[] = { "mab", "mab", "mc", "mab", "mc", "mab", "ma" };
	const struct flametree *t;
	struct rig m;
	uint32_t a, c;

	(void)state;
	record(&m, chains, 7);
	t = flametree_build(&m.arena, m.stacks, 0);
	assert_int_equal(t->n, 5); /* root, m, a, b, c */
	assert_true(t->end[0] == 5 && t->end[1] == 5 && t->depth[1] == 1);
	a = child(&m, t, 1, "a");
	c = child(&m, t, 1, "c");
	assert_true(a == 2 && c == 4); /* the larger first */
	assert_float_equal(t->total[0], 0.006, 1e-12);
	assert_float_equal(t->total[a], 0.004, 1e-12);
	assert_float_equal(t->self[a], 0.0005, 1e-12);
	assert_float_equal(t->x[c], 0.004, 1e-12);
	assert_int_equal(t->n_samples[1], 7);
	assert_int_equal(t->n_children[1], 2);
	rig_done(&m);
}

static void a_slice_leaves_out_what_is_too_small_and_says_so(void **state)
{
	static const char *const chains[] = { "ma", "ma", "ma", "ma", "mb", "mc", "mb", "ma",
		"ma" };
	const struct flametree *t;
	struct flametree_window all = { 0 };
	struct flametree_box boxes[8];
	struct rig m;
	size_t n;

	(void)state;
	record(&m, chains, 9);
	t = flametree_build(&m.arena, m.stacks, 0);
	n = flametree_slice(t, 0, 0.0015, all, boxes, 8);
	assert_int_equal(n, 4); /* root, m, a, b */
	assert_int_equal(boxes[1].n_hidden, 1);
	assert_float_equal(boxes[1].hidden, 0.001, 1e-12);
	assert_int_equal(flametree_slice(t, 0, 0, all, boxes, 8), 5);
	/* Too many for the caller: the limit rises. */
	n = flametree_slice(t, 0, 0, all, boxes, 3);
	assert_true(n >= 2 && n <= 3);
	n = flametree_slice(t, child(&m, t, 1, "b"), 0, all, boxes, 8);
	assert_int_equal(n, 1);
	rig_done(&m);
}

static void a_key_finds_its_node_again(void **state)
{
	static const char *const chains[] = { "mab", "mac", "mab", "mca", "mab" };
	const struct flametree *t;
	struct rig m;

	(void)state;
	record(&m, chains, 5);
	t = flametree_build(&m.arena, m.stacks, 0);
	for (uint32_t i = 0; i < t->n; i++)
		assert_int_equal(flametree_find(t, m.stacks, flametree_key(t, m.stacks, i)), i);
	assert_int_equal(flametree_find(t, m.stacks, 12345), 0);
	rig_done(&m);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The stacks of a shape as one text: "ab cd", in the order of their places. */
static void expect_shape(struct rig *m, const struct stack_filter_options *o, const char *expected)
{
	struct frames *frames = frames_new(&m->arena, m->tables);
	struct stack_frame *v = calloc(STACKS_DEPTH, sizeof *v);
	char text[200] = "", *to = text;
	const struct stacks *s;
	struct err e = ERR_INIT;
	struct stack_filter *shape;

	assert_int_equal(stack_filter_new(&shape, &m->arena, frames, o, &e), 0);
	s = stacks_build(
		&m->arena, m->tables, &(struct stacks_options){ .frames = frames, .shape = shape });
	for (size_t i = 0; i < s->n; i++) {
		if (i)
			*to++ = ' ';
		for (size_t n = stacks_frames(s, i, v); n-- > 0;)
			*to++ = v[n].name[0];
	}
	assert_string_equal(text, expected);
	stack_filter_free(shape);
	free(v);
}

static void shapes_change_stacks_as_they_are_asked_to(void **state)
{
	static const char *const chains[] = { "mab", "mcab", "mc", "mffg", "m" };
	static const char *const a[] = { "^a " }, *const c[] = { "^c " },
				 *const mc[] = { "^m ", "^c " }, *const bad[] = { "[" };
	struct err e = ERR_INIT;
	struct stack_filter *shape;
	struct rig m;

	(void)state;
	record(&m, chains, 5);
	expect_shape(&m, &(struct stack_filter_options){ .focus = { a, 1 } }, "ab ab");
	expect_shape(&m, &(struct stack_filter_options){ .focus = { mc, 2 } }, "cab c");
	expect_shape(&m, &(struct stack_filter_options){ .drop = { c, 1 } }, "mab mffg m");
	expect_shape(&m, &(struct stack_filter_options){ .merge = { mc, 2 } }, "ab ab m ffg m");
	expect_shape(&m, &(struct stack_filter_options){ .keep = { a, 1 } }, "mab mcab");
	expect_shape(&m, &(struct stack_filter_options){ .collapse = true }, "mab mcab mc mfg m");
	assert_true(stack_filter_new(&shape, &m.arena, m.stacks->frames,
			    &(struct stack_filter_options){ .drop = { bad, 1 } }, &e) < 0);
	assert_non_null(strstr(e.text, "drop"));
	rig_done(&m);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void a_time_line_has_the_weights_of_the_samples(void **state)
{
	const struct thread_states *t;
	struct state_run *runs;
	struct rig m;
	double sums[STRIP_STATES_];
	size_t n;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 10, 0, "ma", SAMPLE_ON_CPU);
	rig_sample(&m, 20, 0, "ma", SAMPLE_ON_CPU);
	rig_sample(&m, 30, 0, "mb", 0);
	rig_sample(&m, 50, 0, "mb", SAMPLE_WANTS_GIL);
	rig_sample(&m, 60, 0, "mc", SAMPLE_ON_CPU | SAMPLE_IN_GC);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	t = thread_states_build(&m.arena, m.tables, m.stacks->frames);
	assert_int_equal(t->n_threads, 1);
	assert_int_equal(t->threads[0].n, 4);
	thread_states_sums(&t->threads[0], 0, UINT64_MAX, sums);
	assert_float_equal(sums[STRIP_RUNNING], 0.015, 1e-9);
	assert_float_equal(sums[STRIP_WAITING], 0.015, 1e-9);
	assert_float_equal(sums[STRIP_GIL_WAIT], 0.015, 1e-9);
	assert_float_equal(sums[STRIP_GC], 0.005, 1e-9);
	thread_states_sums(&t->threads[0], t->threads[0].v[1].t_ns - 1000000,
		t->threads[0].v[1].t_ns + 2000000, sums);
	assert_float_equal(sums[STRIP_RUNNING], 0.001, 1e-9);
	assert_float_equal(sums[STRIP_WAITING], 0.002, 1e-9);
	n = thread_states_runs(t, &t->threads[0], t->threads[0].v[0].t_ns, t->end_ns, 50, &runs);
	assert_int_equal(n, 5);
	assert_int_equal(runs[0].state, STRIP_RUNNING);
	assert_int_equal(runs[1].state, STRIP_WAITING);
	assert_int_equal(runs[3].state, STRIP_GC);
	assert_int_equal(runs[4].state, STRIP_NONE);
	assert_string_equal(frames_function(m.stacks->frames, runs[0].function)->name, "a");
	free(runs);
	n = thread_states_runs(t, &t->threads[0], t->threads[0].v[0].t_ns, t->end_ns, 1, &runs);
	assert_int_equal(n, 2);
	free(runs);
	rig_done(&m);
}

static void a_tree_of_time_goes_on_where_neighbours_agree(void **state)
{
	static const char *const chains[] = { "ma", "ma", "mb", "mb", "ma", "k" };
	const struct flametree *t;
	struct flametree_box boxes[16];
	const struct thread_states *l;
	struct rig m;
	size_t n;

	(void)state;
	record(&m, chains, 6);
	l = thread_states_build(&m.arena, m.tables, m.stacks->frames);
	t = flametree_of_time(&m.arena, m.stacks, &l->threads[0]);
	assert_int_equal(t->n, 6); /* root, m, a, b, a, k */
	assert_string_equal(name_of(&m, t, 2), "a");
	assert_string_equal(name_of(&m, t, 3), "b");
	assert_string_equal(name_of(&m, t, 4), "a");
	assert_int_equal(t->end[1], 5);
	assert_float_equal(t->total[1], 0.0045, 1e-9);
	assert_float_equal(t->total[3], 0.002, 1e-9);
	assert_float_equal(t->x[3] - t->x[1], 0.0015, 1e-9);
	/* A window shows what touches it. */
	n = flametree_slice(t, 0, 0, (struct flametree_window){ t->x[3], t->x[4] }, boxes, 16);
	assert_int_equal(n, 3); /* root, m, b */
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_lies_in_depth_first_order_and_adds_up),
		cmocka_unit_test(a_slice_leaves_out_what_is_too_small_and_says_so),
		cmocka_unit_test(a_key_finds_its_node_again),
		cmocka_unit_test(shapes_change_stacks_as_they_are_asked_to),
		cmocka_unit_test(a_time_line_has_the_weights_of_the_samples),
		cmocka_unit_test(a_tree_of_time_goes_on_where_neighbours_agree),
	};

	return cmocka_run_group_tests_name("flametree", tests, NULL, NULL);
}
