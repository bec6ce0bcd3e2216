/* SPDX-License-Identifier: MIT
 * lines: counts and times of made-up events with known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/lines/lines.h"

/* Two functions of ten lines: f from line 10 on, g from line 50 on. */
struct rig {
	struct lines_thread t;
	uint64_t last;
	struct line_cell f_cells[11], g_cells[11];
	struct lines_code f, g;
};

static int key[4]; /* activations */

static int set_up(void **state)
{
	static struct rig r;

	r = (struct rig){ 0 };
	r.f = (struct lines_code){ r.f_cells, 10, 11 };
	r.g = (struct lines_code){ r.g_cells, 50, 11 };
	*state = &r;
	return leadline_lines_init(&r.t, &r.last) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	leadline_lines_done(&r->t);
	return 0;
}

static void is(const struct line_cell *c, uint64_t hits, uint64_t total, uint64_t own, uint64_t max)
{
	assert_int_equal(c->hits, hits);
	assert_int_equal(c->total, total);
	assert_int_equal(c->own, own);
	assert_int_equal(c->max, max);
	assert_int_equal(c->depth, 0);
}

static void lines_and_callees_have_their_time(void **state)
{
	struct rig *r = *state;

	lines_enter(&r->t, &key[0], &r->f, 1000);
	lines_at(&r->t, 11, 1000);
	lines_at(&r->t, 12, 1005);
	lines_enter(&r->t, &key[1], &r->g, 1010); /* line 12 calls g */
	lines_at(&r->t, 51, 1011);
	lines_leave(&r->t, 1031);
	lines_at(&r->t, 11, 1033);
	lines_leave(&r->t, 1040);
	is(&r->f_cells[0], 1, 40, 0, 40);
	is(&r->f_cells[2], 2, 5 + 7, 12, 7);
	is(&r->f_cells[3], 1, 28, 7, 28); /* 5 before g, 2 after it */
	is(&r->g_cells[0], 1, 21, 0, 21);
	is(&r->g_cells[2], 1, 20, 20, 20);
	assert_int_equal(r->last, 1040);
}

/* f calls itself on line 12, three deep. */
static void recursion_counts_no_time_twice(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 3; i++) {
		lines_enter(&r->t, &key[i], &r->f, (uint64_t)i * 10);
		lines_at(&r->t, 11, (uint64_t)i * 10);
		if (i < 2)
			lines_at(&r->t, 12, (uint64_t)i * 10 + 4);
	}
	lines_leave(&r->t, 30);
	lines_at(&r->t, 13, 32);
	lines_leave(&r->t, 33);
	lines_at(&r->t, 13, 35);
	lines_leave(&r->t, 36);
	is(&r->f_cells[0], 3, 36, 0, 36);
	is(&r->f_cells[2], 3, 4 + 4 + 10, 18, 10);
	is(&r->f_cells[3], 2, 31, 6 + 6 + 2 + 2,
		31); /* open from 4 to 35 in one activation or two */
	is(&r->f_cells[4], 2, 2, 2, 1);
}

/* Two coroutines of one function take turns; their suspended time is nobody's. */
static void coroutines_in_turn_keep_their_lines(void **state)
{
	struct rig *r = *state;

	lines_enter(&r->t, &key[0], &r->f, 0);
	lines_at(&r->t, 11, 0);
	lines_leave(&r->t, 3); /* suspended on 11 */
	lines_enter(&r->t, &key[1], &r->f, 10);
	lines_at(&r->t, 11, 10);
	lines_at(&r->t, 12, 12);
	lines_leave(&r->t, 17); /* suspended on 12 */
	lines_resume(&r->t, &key[0], &r->f, 11, 20);
	lines_at(&r->t, 12, 21);
	lines_leave(&r->t, 22);
	lines_resume(&r->t, &key[1], &r->f, 12, 30);
	lines_leave(&r->t, 34);
	is(&r->f_cells[0], 2, 3 + 7 + 2 + 4, 0, 7);
	is(&r->f_cells[2], 2, 3 + 2 + 1, 6, 3);
	is(&r->f_cells[3], 2, 5 + 1 + 4, 10, 5);
}

static void missing_exits_are_made_up_for(void **state)
{
	struct rig *r = *state;

	lines_enter(&r->t, &key[0], &r->f, 0);
	lines_at(&r->t, 11, 0);
	lines_enter(&r->t, &key[1], &r->g, 5);
	lines_at(&r->t, 50, 5);
	assert_false(leadline_lines_find(&r->t, &key[2], 6));
	assert_true(leadline_lines_find(&r->t, &key[0], 9)); /* g ended unseen */
	lines_at(&r->t, 12, 9);
	leadline_lines_close_all(&r->t, 11);
	is(&r->g_cells[1], 1, 4, 4, 4);
	is(&r->f_cells[2], 1, 9, 5, 9);
	is(&r->f_cells[3], 1, 2, 2, 2);
	assert_ptr_equal(r->t.top, r->t.bottom);
}

static void lines_outside_the_function_are_left_out(void **state)
{
	struct rig *r = *state;

	lines_enter(&r->t, &key[0], &r->f, 0);
	lines_at(&r->t, 9, 1);
	lines_at(&r->t, 20, 2);
	lines_at(&r->t, UINT32_MAX, 3);
	lines_at(&r->t, 19, 4);
	lines_leave(&r->t, 6);
	is(&r->f_cells[10], 1, 2, 2, 2);
	for (int i = 1; i < 10; i++)
		is(&r->f_cells[i], 0, 0, 0, 0);
}

static void a_full_stack_keeps_hits_exact(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < LINES_DEPTH_MAX + 5; i++) {
		lines_enter(&r->t, &key[0], &r->f, (uint64_t)i);
		lines_at(&r->t, 11, (uint64_t)i);
	}
	leadline_lines_close_all(&r->t, LINES_DEPTH_MAX + 5);
	assert_int_equal(r->f_cells[0].hits, LINES_DEPTH_MAX + 5);
	assert_int_equal(r->f_cells[2].hits, LINES_DEPTH_MAX + 5);
	assert_int_equal(r->f_cells[2].depth, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(lines_and_callees_have_their_time),
		TEST(recursion_counts_no_time_twice),
		TEST(coroutines_in_turn_keep_their_lines),
		TEST(missing_exits_are_made_up_for),
		TEST(lines_outside_the_function_are_left_out),
		TEST(a_full_stack_keeps_hits_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
