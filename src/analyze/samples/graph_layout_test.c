/* SPDX-License-Identifier: MIT
 * graph_layout: on graphs made at random and by hand, what must hold of every picture. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/samples/graph_layout.h"
#include "base/arena.h"

static const struct graph_gaps gaps = { 10, 40 };

static void assert_near(double got, double want)
{
	assert_true(fabs(got - want) < 0.01);
}

static bool overlap(const struct graph_box *a, const struct graph_box *b)
{
	return a->x < b->x + b->width - 0.01 && b->x < a->x + a->width - 0.01 &&
		a->y < b->y + b->height - 0.01 && b->y < a->y + a->height - 0.01;
}

/* Boxes lie inside and apart; arrows begin and end at the edges of their boxes. */
static void assert_sound(const struct graph_box *boxes, size_t n, const struct graph_arrow *arrows,
	size_t n_arrows, struct graph_point size)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(boxes[i].x >= -0.01 && boxes[i].x + boxes[i].width <= size.x + 0.01);
		assert_true(boxes[i].y >= -0.01 && boxes[i].y + boxes[i].height <= size.y + 0.01);
		for (size_t k = 0; k < i; k++)
			assert_false(overlap(&boxes[i], &boxes[k]));
	}
	for (size_t k = 0; k < n_arrows; k++) {
		const struct graph_box *from = &boxes[arrows[k].from], *to = &boxes[arrows[k].to];
		const struct graph_point *p = arrows[k].points, *last = p + arrows[k].n_points - 1;
		bool is_down = from->y < to->y;

		if (from == to) {
			assert_int_equal(arrows[k].n_points, 0);
			continue;
		}
		assert_true(from->y != to->y && arrows[k].n_points >= 2);
		assert_near(p->x, from->x + from->width / 2);
		assert_near(p->y, is_down ? from->y + from->height : from->y);
		assert_near(last->x, to->x + to->width / 2);
		assert_near(last->y, is_down ? to->y : to->y + to->height);
	}
}

static void a_chain_is_a_straight_line_down(void **state)
{
	struct arena a = ARENA_INIT;
	struct graph_box boxes[3] = { { 50, 20, 0, 0 }, { 80, 30, 0, 0 }, { 20, 20, 0, 0 } };
	struct graph_arrow arrows[2] = { { 0, 1, NULL, 0 }, { 1, 2, NULL, 0 } };
	struct graph_point size = graph_layout(&a, boxes, 3, arrows, 2, gaps);

	(void)state;
	assert_sound(boxes, 3, arrows, 2, size);
	assert_near(size.x, 80);
	assert_near(size.y, 20 + 40 + 30 + 40 + 20);
	assert_near(boxes[0].x + 25, boxes[1].x + 40);
	assert_near(boxes[2].x + 10, boxes[1].x + 40);
	arena_done(&a);
}

static void circles_go_back_up_and_loops_stay(void **state)
{
	struct arena a = ARENA_INIT;
	struct graph_box boxes[3] = { { 50, 20, 0, 0 }, { 50, 20, 0, 0 }, { 50, 20, 0, 0 } };
	struct graph_arrow arrows[4] = { { 0, 1, NULL, 0 }, { 1, 2, NULL, 0 }, { 2, 0, NULL, 0 },
		{ 1, 1, NULL, 0 } };
	struct graph_point size = graph_layout(&a, boxes, 3, arrows, 4, gaps);

	(void)state;
	assert_sound(boxes, 3, arrows, 4, size);
	assert_true(boxes[0].y < boxes[1].y && boxes[1].y < boxes[2].y);
	assert_int_equal(arrows[2].n_points, 4); /* beside the box in between */
	arena_done(&a);
}

static void siblings_do_not_cross(void **state)
{
	struct arena a = ARENA_INIT;
	struct graph_box boxes[6];
	/* 0 calls 2 and 3, 1 calls 4 and 5; given crosswise. */
	struct graph_arrow arrows[4] = { { 1, 5, NULL, 0 }, { 0, 3, NULL, 0 }, { 1, 4, NULL, 0 },
		{ 0, 2, NULL, 0 } };
	struct graph_point size;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		boxes[i] = (struct graph_box){ 40, 20, 0, 0 };
	size = graph_layout(&a, boxes, 6, arrows, 4, gaps);
	assert_sound(boxes, 6, arrows, 4, size);
	assert_true((boxes[2].x < boxes[4].x) == (boxes[0].x < boxes[1].x));
	assert_true((boxes[3].x < boxes[5].x) == (boxes[0].x < boxes[1].x));
	arena_done(&a);
}

static void any_graph_is_laid_out_soundly(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct arena a = ARENA_INIT;
		size_t n = 1 + (size_t)rand_r(&seed) % 25, n_arrows = (size_t)rand_r(&seed) % 60;
		struct graph_box boxes[25];
		struct graph_arrow arrows[60];

		for (size_t i = 0; i < n; i++)
			boxes[i] = (struct graph_box){ 10 + rand_r(&seed) % 90,
				10 + rand_r(&seed) % 40, 0, 0 };
		for (size_t k = 0; k < n_arrows; k++)
			arrows[k] = (struct graph_arrow){ (size_t)rand_r(&seed) % n,
				(size_t)rand_r(&seed) % n, NULL, 0 };
		assert_sound(boxes, n, arrows, n_arrows,
			graph_layout(&a, boxes, n, arrows, n_arrows, gaps));
		arena_done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_a_straight_line_down),
		cmocka_unit_test(circles_go_back_up_and_loops_stay),
		cmocka_unit_test(siblings_do_not_cross),
		cmocka_unit_test(any_graph_is_laid_out_soundly),
	};

	return cmocka_run_group_tests_name("graph_layout", tests, NULL, NULL);
}
