/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/flametree.h"
#include "analyze/samples/parted_tree.h"
#include "base/arena.h"

enum { MOST = 4000 };

/* A call graph by hand: functions are their own numbers. */
struct graph {
	struct exact_function functions[MOST];
	struct exact_edge edges[MOST];
	struct exact x;
};

static void add_function(struct graph *g, uint64_t calls, double self, double total)
{
	g->functions[g->x.n_functions] =
		(struct exact_function){ .function = (uint32_t)g->x.n_functions,
			.name = "f",
			.file = "",
			.cost = { .calls = calls, .self = self, .total = total } };
	g->x.n_functions++;
	g->x.functions = g->functions;
	g->x.edges = g->edges;
}

static void add_edge(
	struct graph *g, uint32_t caller, uint32_t callee, uint64_t calls, double total)
{
	g->edges[g->x.n_edges++] = (struct exact_edge){
		.caller = caller, .callee = callee, .cost = { .calls = calls, .total = total }
	};
}

static const struct flametree *tree_of(struct arena *a, const struct graph *g)
{
	const struct flametree *t = parted_tree_build(a, &g->x);
	double *self = calloc(MOST, sizeof *self), all = 0;

	assert_true(t->n >= 1);
	assert_int_equal(t->end[0], t->n);
	for (uint32_t i = 1; i < t->n; i++) {
		double below = t->self[i];

		assert_true(t->parent[i] < i && t->depth[i] == t->depth[t->parent[i]] + 1);
		for (uint32_t c = i + 1; c < t->end[i]; c = t->end[c])
			below += t->total[c];
		assert_true(fabs(below - t->total[i]) <= 1e-9 * (1 + t->total[0]));
		for (uint32_t up = t->parent[i]; up; up = t->parent[up])
			assert_true(t->function[up] != t->function[i]);
		self[t->function[i]] += t->self[i];
	}
	for (size_t f = 0; f < g->x.n_functions; f++) {
		all += g->functions[f].cost.self;
		if (t->n < PARTED_TREE_NODES)
			assert_true(fabs(self[f] - g->functions[f].cost.self) <= 1e-9 * (1 + all));
	}
	assert_true(fabs(all - t->total[0]) <= 1e-9 * (1 + all));
	free(self);
	return t;
}

static uint32_t find(const struct flametree *t, uint32_t parent, uint32_t function)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (i && t->parent[i] == parent && t->function[i] == function)
			return i;
	return 0;
}

static void a_function_is_parted_as_its_callers_calls_took(void **state)
{
	struct graph *g = calloc(1, sizeof *g);
	struct arena a = ARENA_INIT;
	const struct flametree *t;
	uint32_t left, right;

	(void)state;
	add_function(g, 1, 1, 11); /* main */
	add_function(g, 1, 1, 4);  /* left */
	add_function(g, 1, 0, 6);  /* right */
	add_function(g, 5, 9, 9);  /* work */
	add_edge(g, 0, 1, 1, 4);
	add_edge(g, 0, 2, 1, 6);
	add_edge(g, 1, 3, 4, 3);
	add_edge(g, 2, 3, 1, 6);
	t = tree_of(&a, g);
	assert_int_equal(t->n, 6);
	assert_int_equal(t->function[1], 0);
	left = find(t, 1, 1);
	right = find(t, 1, 2);
	assert_true(right < left); /* the wider one first */
	assert_true(fabs(t->total[right] - 6) < 1e-12 && fabs(t->total[left] - 4) < 1e-12);
	assert_true(fabs(t->total[find(t, left, 3)] - 3) < 1e-12);
	assert_true(fabs(t->total[find(t, right, 3)] - 6) < 1e-12);
	arena_done(&a);
	free(g);
}

static void recursion_and_cycles_end(void **state)
{
	struct graph *g = calloc(1, sizeof *g);
	struct arena a = ARENA_INIT;

	(void)state;
	add_function(g, 100, 5, 5); /* calls itself, and nobody else calls it */
	add_edge(g, 0, 0, 99, 4);
	add_function(g, 10, 2, 6); /* two that call each other */
	add_function(g, 10, 4, 6);
	add_edge(g, 1, 2, 10, 6);
	add_edge(g, 2, 1, 9, 5);
	tree_of(&a, g);
	arena_done(&a);
	free(g);
}

static void what_nobody_is_known_to_have_called_is_a_root_as_well(void **state)
{
	struct graph *g = calloc(1, sizeof *g);
	struct arena a = ARENA_INIT;
	const struct flametree *t;

	(void)state;
	add_function(g, 1, 1, 2);
	add_function(g, 4, 4, 4); /* one call of four is main's */
	add_edge(g, 0, 1, 1, 1);
	t = tree_of(&a, g);
	assert_true(fabs(t->total[find(t, 0, 1)] - 3) < 1e-12);
	assert_true(fabs(t->total[find(t, find(t, 0, 0), 1)] - 1) < 1e-12);
	arena_done(&a);
	free(g);
}

/* 2^30 paths. */
static void a_ladder_of_paths_is_bounded(void **state)
{
	struct graph *g = calloc(1, sizeof *g);
	struct arena a = ARENA_INIT;
	const struct flametree *t;

	(void)state;
	for (uint32_t i = 0; i < 60; i++)
		add_function(g, 2, 1, 100);
	for (uint32_t i = 0; i + 3 < 60; i += 2)
		for (uint32_t k = 0; k < 4; k++)
			add_edge(g, i + k / 2, i + 2 + k % 2, 1, 1);
	t = tree_of(&a, g);
	assert_true(t->n >= PARTED_TREE_NODES && t->n < PARTED_TREE_NODES + 10);
	arena_done(&a);
	free(g);
}

static uint32_t draw(uint64_t *seed, uint32_t most)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % most;
}

static void any_graph_adds_up(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct graph *g = calloc(1, sizeof *g);
		struct arena a = ARENA_INIT;
		uint32_t n, n_edges;

		n = 1 + draw(&seed, 30);
		n_edges = draw(&seed, 60);
		for (uint32_t i = 0; i < n; i++)
			add_function(g, draw(&seed, 20),
				draw(&seed, 3) ? draw(&seed, 1000) / 7.0 : 0, draw(&seed, 2000));
		for (uint32_t i = 0; i < n_edges; i++) {
			uint32_t from = draw(&seed, n), to = draw(&seed, n);

			add_edge(g, from, to, draw(&seed, 5),
				draw(&seed, 2) ? draw(&seed, 500) / 3.0 : 0);
		}
		tree_of(&a, g);
		arena_done(&a);
		free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_parted_as_its_callers_calls_took),
		cmocka_unit_test(recursion_and_cycles_end),
		cmocka_unit_test(what_nobody_is_known_to_have_called_is_a_root_as_well),
		cmocka_unit_test(a_ladder_of_paths_is_bounded),
		cmocka_unit_test(any_graph_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
