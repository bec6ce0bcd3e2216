/* SPDX-License-Identifier: MIT
 * diff on hand-made recordings: planted changes are named, chance is not, sums add up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/calls/exact.h"
#include "analyze/diff/diff.h"
#include "analyze/diff/diff_tree.h"
#include "analyze/diff/time_blocks.h"
#include "analyze/samples/stacks_rig.h"

struct made {
	struct rig rig;
	struct time_blocks blocks;
	struct diff_side side;
};

static uint32_t random_state;

/* 0 … 1; the same numbers on every machine. */
static double chance(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (double)(random_state >> 8) / 16777216.0;
}

static void finish(struct made *m)
{
	rig_finish(&m->rig);
	m->side.profile = rig_profile_of(&m->rig, (struct stacks_options){ .blocks = &m->blocks });
	m->side.stacks = m->rig.stacks;
	m->side.blocks = &m->blocks;
	m->side.units = 1;
}

static void made_done(struct made *m)
{
	time_blocks_done(&m->blocks);
	rig_done(&m->rig);
}

/* A loop of 10 ms rounds: `f_ms` in f, 3 ms in g below h, the rest of the round 1 ms in the loop itself. Sampled
 * about each millisecond, by chance. */
static void sample_rounds(struct made *m, double f_ms, double g_ms, unsigned n_rounds)
{
	double t = 0, round = f_ms + g_ms + 1, end = round * n_rounds;

	*m = (struct made){ 0 };
	rig_begin(&m->rig);
	while (t < end) {
		double in = fmod(t, round);
		const char *stack = in < f_ms ? "mf" : in < f_ms + g_ms ? "mhg" : "m";

		rig_sample_ns(&m->rig, (uint64_t)(t * 1e6), 0, stack, SAMPLE_ON_CPU);
		t += 0.5 + chance();
	}
	finish(m);
}

static const struct diff_row *row(const struct diff_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i]->name, name) == 0)
			return t->v[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void assert_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("got %g, want %g", got, want);
}

static void assert_adds_up(const struct diff *d)
{
	double change = 0, a = 0, b = 0;

	for (size_t i = 0; i < d->functions.n; i++) {
		change += d->functions.v[i]->self.change;
		a += d->functions.v[i]->self.a;
		b += d->functions.v[i]->self.b;
	}
	assert_near(change, d->total.change, 1e-9);
	assert_near(a, d->total.a, 1e-9);
	assert_near(b, d->total.b, 1e-9);
}

static void a_slower_function_is_named(void **state)
{
	struct arena a = ARENA_INIT;
	struct made before, after;
	const struct diff *d;

	(void)state;
	random_state = 1;
	sample_rounds(&before, 6, 3, 200);
	sample_rounds(&after, 6 * 1.3, 3, 200);
	d = diff_build(&a, &before.side, &after.side, &(struct diff_options){ .noise = 0.02 });
	assert_true(d->is_timed);
	assert_adds_up(d);
	assert_near(d->total.change, 0.36, 0.01);
	assert_true(d->total.is_named);
	assert_string_equal(d->functions.v[0]->name, "f");
	assert_true(d->functions.v[0]->self.is_named);
	assert_near(d->functions.v[0]->self.change, 0.36, 0.06);
	assert_true(
		fabs(d->functions.v[0]->self.change - 0.36) < d->functions.v[0]->self.plus_minus);
	assert_false(row(&d->functions, "g")->is_named);
	assert_false(row(&d->functions, "m")->self.is_named);
	assert_true(row(&d->functions, "m")->total.is_named); /* with what it calls */
	assert_string_equal(d->paths.v[0]->name, "f");
	assert_string_equal(d->paths.v[0]->path->name, "m");
	arena_done(&a);
	made_done(&before);
	made_done(&after);
}

static void one_program_twice_names_nothing(void **state)
{
	unsigned n_named = 0;

	(void)state;
	random_state = 7;
	for (int i = 0; i < 100; i++) {
		struct arena a = ARENA_INIT;
		struct made before, after;
		const struct diff *d;

		sample_rounds(&before, 6, 3, 60);
		sample_rounds(&after, 6, 3, 60);
		d = diff_build(&a, &before.side, &after.side, &(struct diff_options){ 0 });
		n_named += d->functions.n_named || d->lines.n_named || d->paths.n_named;
		arena_done(&a);
		made_done(&before);
		made_done(&after);
	}
	assert_true(n_named <= 3); /* one of a hundred is meant for each table; these go together */
}

static void intervals_cover_the_truth(void **state)
{
	unsigned n_covered = 0, n = 200;

	(void)state;
	random_state = 3;
	for (unsigned i = 0; i < n; i++) {
		struct arena a = ARENA_INIT;
		struct made before, after;
		const struct diff_row *f;

		sample_rounds(&before, 6, 3, 40);
		sample_rounds(&after, 8, 3, 40);
		f = row(&diff_build(&a, &before.side, &after.side, &(struct diff_options){ 0 })
				 ->functions,
			"f");
		n_covered += fabs(f->self.change - 0.080) <= f->self.plus_minus;
		arena_done(&a);
		made_done(&before);
		made_done(&after);
	}
	assert_true(n_covered >= n * 90 / 100);
}

/* A phase that is longer is a change; that it is one phase is no chance. */
static void phases_are_not_chance(void **state)
{
	struct arena a = ARENA_INIT;
	struct made m[2];
	const struct diff *d;

	(void)state;
	for (int i = 0; i < 2; i++) {
		m[i] = (struct made){ 0 };
		rig_begin(&m[i].rig);
		for (uint64_t t = 0; t < (i ? 1100u : 1000u); t++)
			rig_sample(&m[i].rig, t, 0, t < (i ? 600u : 500u) ? "ma" : "mb", 0);
		finish(&m[i]);
	}
	d = diff_build(&a, &m[0].side, &m[1].side, &(struct diff_options){ 0 });
	assert_true(row(&d->functions, "a")->self.is_named);
	assert_near(row(&d->functions, "a")->self.plus_minus, 0.01, 0.01);
	assert_false(row(&d->functions, "b")->is_named);
	arena_done(&a);
	made_done(&m[0]);
	made_done(&m[1]);
}

static void shares_and_units(void **state)
{
	struct arena a = ARENA_INIT;
	struct made before, after;
	const struct diff *d;

	(void)state;
	random_state = 5;
	sample_rounds(&before, 6, 3, 100);
	sample_rounds(&after, 6, 3, 200); /* twice the work */
	d = diff_build(&a, &before.side, &after.side, &(struct diff_options){ .noise = 0.02 });
	assert_true(row(&d->functions, "g")->self.is_named);
	assert_adds_up(d);
	d = diff_build(&a, &before.side, &after.side,
		&(struct diff_options){ .normalize = DIFF_RUN, .noise = 0.02 });
	assert_int_equal(d->functions.n_named, 0);
	assert_int_equal(d->unit, UNIT_SHARE);
	assert_near(d->total.a, 1, 1e-9);
	assert_adds_up(d);
	before.side.units = 100;
	after.side.units = 200;
	d = diff_build(&a, &before.side, &after.side,
		&(struct diff_options){ .normalize = DIFF_UNIT, .noise = 0.02 });
	assert_int_equal(d->functions.n_named, 0);
	assert_near(d->total.a, 0.01, 1e-4);
	assert_adds_up(d);
	arena_done(&a);
	made_done(&before);
	made_done(&after);
}

static void lost_samples_have_a_row(void **state)
{
	struct arena a = ARENA_INIT;
	struct made m[2];
	const struct diff *d;

	(void)state;
	for (int i = 0; i < 2; i++) {
		m[i] = (struct made){ 0 };
		rig_begin(&m[i].rig);
		for (uint64_t t = 0; t < 400; t++)
			rig_sample(&m[i].rig, t, 0, "ma", 0);
		if (i)
			rig_lose(&m[i].rig, "sample", 100);
		finish(&m[i]);
	}
	d = diff_build(&a, &m[0].side, &m[1].side, &(struct diff_options){ 0 });
	assert_adds_up(d);
	assert_near(row(&d->functions, "[lost]")->self.change, 0.399 * 0.2, 1e-6);
	arena_done(&a);
	made_done(&m[0]);
	made_done(&m[1]);
}

/* Moved to another folder, begun at another line, gone and new. */
static void functions_are_known_again(void **state)
{
	struct arena a = ARENA_INIT;
	struct made m[2];
	const struct diff *d;

	(void)state;
	for (int i = 0; i < 2; i++) {
		m[i] = (struct made){ 0 };
		rig_begin(&m[i].rig);
		for (int letter = 'a'; letter <= 'z'; letter++)
			m[i].rig.files[letter] = i ? "/new/x.py" : "/old/x.py";
		m[i].rig.names[i ? 'b' : 'a'] = "same"; /* letters are first lines, too */
		for (uint64_t t = 0; t < 100; t++)
			rig_sample(&m[i].rig, t, 0, t % 2 ? i ? "mb" : "ma" : i ? "mn" : "mo", 0);
		finish(&m[i]);
	}
	d = diff_build(&a, &m[0].side, &m[1].side, &(struct diff_options){ 0 });
	assert_int_equal(d->functions.n, 4);
	assert_int_equal(row(&d->functions, "same")->line, 'b');
	assert_string_equal(row(&d->functions, "same")->file, "/new/x.py");
	assert_false(row(&d->functions, "same")->is_named);
	assert_true(row(&d->functions, "n")->self.is_named);
	assert_near(row(&d->functions, "n")->self.a, 0, 0);
	assert_near(row(&d->functions, "o")->self.b, 0, 0);
	arena_done(&a);
	made_done(&m[0]);
	made_done(&m[1]);
}

static void trace(struct made *m, uint64_t f_calls, uint64_t f_ns)
{
	const struct exact *x;

	*m = (struct made){ 0 };
	rig_begin(&m->rig);
	rig_node(&m->rig, 0, 'm',
		(struct rec_node){
			.id = 1, .calls = 1, .self_ns = 1000000, .inclusive_ns = 1000000 + f_ns });
	rig_node(&m->rig, 0, 'f',
		(struct rec_node){ .id = 2,
			.parent = 1,
			.calls = f_calls,
			.self_ns = f_ns,
			.inclusive_ns = f_ns });
	finish(m);
	x = exact_build(&m->rig.arena, m->rig.tables, m->rig.stacks->frames, m->rig.stacks->nodes);
	m->side.profile = exact_profile(&m->rig.arena, x);
	m->side.has_calls = true;
}

static void counted_calls_are_compared(void **state)
{
	struct arena a = ARENA_INIT;
	struct made before, after;
	const struct diff *d;

	(void)state;
	trace(&before, 10, 4000000);
	trace(&after, 12, 4800000);
	d = diff_build(&a, &before.side, &after.side, &(struct diff_options){ .noise = 0.02 });
	assert_string_equal(d->functions.v[0]->name, "f");
	assert_true(d->functions.v[0]->self.is_named);
	assert_near(d->functions.v[0]->self.change, 0.0008, 1e-9);
	assert_near(d->functions.v[0]->calls_a, 10, 0);
	assert_near(d->functions.v[0]->calls_b, 12, 0);
	assert_false(row(&d->functions, "m")->self.is_named);
	assert_int_equal(d->paths.n, 2);
	assert_adds_up(d);
	arena_done(&a);
	made_done(&before);
	made_done(&after);
}

static void blocks_grow_with_the_run(void **state)
{
	struct time_blocks b = TIME_BLOCKS_INIT;
	double sum = 0;

	(void)state;
	for (uint64_t t = 0; t < 100000; t++)
		time_blocks_add(&b, 1000000000 + t * 1000000, (uint32_t)(t % 3), 0.001);
	assert_in_range(b.last + 1, TIME_BLOCKS_MOST / 2, TIME_BLOCKS_MOST);
	assert_true(b.v.n <= 3 * TIME_BLOCKS_MOST);
	time_blocks_sort(&b);
	for (size_t i = 0; i < b.v.n; i++) {
		sum += b.v.v[i].value;
		assert_true(i == 0 || b.v.v[i - 1].block <= b.v.v[i].block);
	}
	assert_near(sum, 100, 1e-6);
	time_blocks_done(&b);
}

static const char *name_at(const struct diff_tree *t, uint32_t node)
{
	return t->v[node].row->name;
}

static void paths_are_a_tree_as_wide_as_one_side(void **state)
{
	struct arena a = ARENA_INIT;
	struct made before, after;
	const struct diff *d;
	const struct diff_tree *t;
	struct diff_box boxes[8];

	(void)state;
	random_state = 1;
	sample_rounds(&before, 6, 3, 100);
	sample_rounds(&after, 2, 3, 100);
	d = diff_build(&a, &before.side, &after.side, &(struct diff_options){ .noise = 0.02 });
	t = diff_tree_build(&a, d, 0); /* as it was: m, in it f before h, in that g */
	assert_int_equal(t->n, 5);
	assert_string_equal(name_at(t, 1), "m");
	assert_string_equal(name_at(t, 2), "f");
	assert_string_equal(name_at(t, 4), "g");
	assert_near(t->v[0].width, d->total.a, 1e-9);
	t = diff_tree_build(&a, d, 1); /* as it is: h is the wider one */
	assert_string_equal(name_at(t, 2), "h");
	assert_string_equal(name_at(t, 3), "g");
	assert_string_equal(name_at(t, 4), "f");
	assert_near(t->v[4].x, t->v[2].width, 1e-9);
	assert_int_equal(t->v[2].end, 4);
	assert_int_equal(t->v[4].parent, 1);
	assert_int_equal(diff_tree_slice(t, 0, 0, boxes, 8), 5);
	assert_int_equal(diff_tree_slice(t, 0, 0.25, boxes, 8), 4); /* f is too small */
	assert_int_equal(boxes[1].n_hidden, 1);
	assert_int_equal(boxes[2].n_hidden, 0);
	assert_int_equal(diff_tree_slice(t, 2, 0, boxes, 8), 2);
	assert_int_equal(boxes[0].node, 2);
	arena_done(&a);
	made_done(&before);
	made_done(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slower_function_is_named),
		cmocka_unit_test(one_program_twice_names_nothing),
		cmocka_unit_test(intervals_cover_the_truth),
		cmocka_unit_test(phases_are_not_chance),
		cmocka_unit_test(shares_and_units),
		cmocka_unit_test(lost_samples_have_a_row),
		cmocka_unit_test(functions_are_known_again),
		cmocka_unit_test(counted_calls_are_compared),
		cmocka_unit_test(blocks_grow_with_the_run),
		cmocka_unit_test(paths_are_a_tree_as_wide_as_one_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
