/* SPDX-License-Identifier: MIT
 * Planted histories: steady ones have no steps, a step is found where it was put. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "analyze/stats/history.h"
#include "base/arena.h"
#include "base/banned.h"

enum { COMMITS = 20, RUNS = 2 };

static double noise(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*state >> 11) / 9007199254740992.0;
	}
	return sum;
}

static char names[COMMITS][8];

/* Each commit is run twice; from commit `at` on it takes `ratio` times as long. */
static size_t plant(struct history_run *to, double sd, int at, double ratio, uint64_t *random)
{
	size_t n = 0;

	for (int c = 0; c < COMMITS; c++) {
		snprintf(names[c], sizeof names[c], "c%d", c);
		for (int k = 0; k < RUNS; k++)
			to[n++] = (struct history_run){ names[c], 100.0 * c + k,
				1e-3 * (c >= at ? ratio : 1) * exp(sd * noise(random)) };
	}
	return n;
}

static void a_steady_history_has_no_steps(void **state)
{
	uint64_t random = 5;
	int wrong = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct arena a = ARENA_INIT;
		struct history_run runs[COMMITS * RUNS];
		size_t n = plant(runs, 0.03, COMMITS, 1, &random);

		wrong += history_build(&a, runs, n)->n_steps > 0;
		arena_done(&a);
	}
	assert_in_range(wrong, 0, 28); /* of 400 */
}

static void a_planted_step_is_found_where_it_is(void **state)
{
	uint64_t random = 6;
	int found = 0, held = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct arena a = ARENA_INIT;
		struct history_run runs[COMMITS * RUNS];
		size_t n = plant(runs, 0.03, 12, 1.1, &random);
		const struct history *h = history_build(&a, runs, n);

		for (size_t k = 0; k < h->n_steps; k++)
			if (h->steps[k].at >= 11 && h->steps[k].at <= 13) {
				found++;
				held += h->steps[k].interval.low <= 1.1 &&
					1.1 <= h->steps[k].interval.high;
			}
		arena_done(&a);
	}
	assert_in_range(found, 190, 210);
	assert_true(held >= 170);
}

static void without_repeats_nothing_is_a_step(void **state)
{
	struct arena a = ARENA_INIT;
	struct history_run runs[] = { { "b", 2, 2 }, { "a", 1, 1 }, { "", 3, 5 }, { "c+", 4, 9 },
		{ "c+", 5, 1 } };
	const struct history *h = history_build(&a, runs, 5);

	(void)state;
	assert_int_equal(h->n, 5);
	assert_string_equal(h->points[0].commit, "a");
	assert_int_equal(h->n_repeats, 0);
	assert_true(isnan(h->noise));
	assert_int_equal(h->n_steps, 0);
	arena_done(&a);
}

static void noise_is_what_runs_of_a_commit_differ_by(void **state)
{
	struct arena a = ARENA_INIT;
	struct history_run runs[] = { { "a", 1, 1 }, { "a", 2, exp(0.2) }, { "b", 3, 1 } };
	const struct history *h = history_build(&a, runs, 3);

	(void)state;
	assert_int_equal(h->n, 2);
	assert_int_equal(h->n_repeats, 1);
	assert_true(fabs(h->noise - 0.2 / sqrt(2)) < 1e-12);
	assert_true(fabs(h->points[0].seconds - exp(0.1)) < 1e-12);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_history_has_no_steps),
		cmocka_unit_test(a_planted_step_is_found_where_it_is),
		cmocka_unit_test(without_repeats_nothing_is_a_step),
		cmocka_unit_test(noise_is_what_runs_of_a_commit_differ_by),
	};

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
