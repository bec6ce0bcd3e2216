/* SPDX-License-Identifier: MIT
 * Comparisons whose truth is planted: noise of several shapes, thousands of times. What is held here is how often the
 * verdict is wrong, and how often it finds what is there in the number of blocks that a difference of that size needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "analyze/stats/verdict.h"
#include "analyze/stats/verdict_recorded.h"
#include "base/banned.h"

enum { TRIALS = 600, FEWER = 400, BLOCKS = 120 };

struct machine { /* what disturbs: one state per trial */
	uint64_t random;
	double slow;     /* wanders, alike for all of a block */
	double previous; /* noise of the last measurement */
	int mode;
};

static double uniform(struct machine *m)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return ((double)(m->random >> 11) + 0.5) / (double)(1ull << 53);
}

static double normal(struct machine *m)
{
	return sqrt(-2 * log(uniform(m))) * cos(2 * M_PI * uniform(m));
}

enum shape { NORMAL, HEAVY_TAILS, TWO_SPEEDS, DRIFT, DELAYS, SHAPES };

/* The time of something that takes `true_s`, with a spread of about 3 %. */
static double measured(struct machine *m, enum shape shape, double true_s)
{
	switch (shape) {
	case NORMAL:
		return true_s * exp(0.03 * normal(m));
	case HEAVY_TAILS: /* Student's t with 3 degrees of freedom */
		return true_s *
			exp(0.02 * normal(m) /
				sqrt((pow(normal(m), 2) + pow(normal(m), 2) + pow(normal(m), 2)) /
					3));
	case TWO_SPEEDS:
		return true_s * (uniform(m) < 0.3 ? 1.08 : 1) * exp(0.01 * normal(m));
	case DRIFT: /* common to a block, and growing */
		return true_s * m->slow * exp(0.03 * normal(m));
	case DELAYS: /* only ever longer */
		return true_s * (1 + 0.03 * -log(uniform(m)));
	case SHAPES:
		break;
	}
	return true_s;
}

static struct verdict compare(struct machine *m, enum shape shape, double b, size_t most)
{
	static const struct verdict_options options = { .equivalence = 0.01, .gate = NAN };
	struct verdict_block blocks[BLOCKS];
	struct verdict v = { 0 };
	size_t n = 0;

	m->slow = 1;
	while (!v.is_final && n < most) {
		size_t look = verdict_next_look(n) < most ? verdict_next_look(n) : most;

		for (; n < look; n++) {
			m->slow *= 1 + 0.002 * fabs(normal(m));
			blocks[n] = (struct verdict_block){ measured(m, shape, 1),
				measured(m, shape, b), measured(m, shape, 1), uniform(m) < 0.5 };
		}
		v = verdict_of(blocks, n, &options);
	}
	return v;
}

static void a_against_itself_is_hardly_ever_different(void **state)
{
	(void)state;
	for (enum shape shape = 0; shape < SHAPES; shape++) {
		struct machine m = { .random = 17 + shape };
		size_t wrong = 0;

		for (int i = 0; i < TRIALS; i++) {
			struct verdict v = compare(&m, shape, 1, BLOCKS);

			wrong += v.word == VERDICT_FASTER || v.word == VERDICT_SLOWER;
		}
		if (wrong > TRIALS / 20)
			fail_msg("shape %d: %zu of %d wrong", shape, wrong, TRIALS);
	}
}

/* A difference of 3 % in noise of 3 % on each side needs 10.5 (sd/δ)² = 21 blocks when one looks once; twice that is the
 * price of looking often. */
static void a_change_of_three_percent_is_found(void **state)
{
	(void)state;
	for (enum shape shape = 0; shape < SHAPES; shape++) {
		struct machine m = { .random = 117 + shape };
		size_t found = 0, opposite = 0;
		double sd = shape == TWO_SPEEDS || shape == HEAVY_TAILS ? 0.055 : 0.0425;
		size_t most = (size_t)ceil(2 * 10.5 * pow(sd / 0.0296, 2));

		for (int i = 0; i < FEWER; i++) {
			struct verdict v = compare(&m, shape, 1.03, most < BLOCKS ? most : BLOCKS);

			found += v.word == VERDICT_SLOWER;
			opposite += v.word == VERDICT_FASTER;
		}
		if (found < FEWER * 9 / 10 || opposite > FEWER / 200)
			fail_msg("shape %d: %zu of %d found, %zu the wrong way", shape, found,
				FEWER, opposite);
	}
}

static void what_it_says_is_needed_is_needed(void **state)
{
	struct machine m = { .random = 5 };
	size_t within = 0, undecided = 0;

	(void)state;
	for (int i = 0; i < FEWER; i++) {
		struct verdict v = compare(&m, NORMAL, 1.03, VERDICT_FIRST_LOOK);
		double delta = fabs(log(v.ratio));

		if (v.word != VERDICT_UNDECIDED || v.reason != VERDICT_TOO_WIDE || delta < 0.01)
			continue;
		undecided++;
		assert_true(v.n_more > 0);
		within += (double)(v.n_blocks + v.n_more) <=
			fmax(2 * 10.5 * pow(v.sd / delta, 2), 1.5 * (double)v.n_blocks) + 1;
	}
	assert_true(undecided > 100);
	assert_int_equal(within, undecided);
}

/* ---- recorded blocks ------------------------------------------------------------------------- */

enum { RESAMPLED = 700, STRETCH = 5, PYPERF_VALUES = 60, HYPERFINE_RUNS = 10 };

static const struct recorded {
	const char *name;
	const uint32_t (*v)[3];
	size_t n;
} recorded[] = {
#define RECORDED(name)                                                                   \
	{                                                                                \
#name, recorded_##name, sizeof recorded_##name / sizeof *recorded_##name \
	}
	RECORDED(statement),
	RECORDED(interpreter),
	RECORDED(command),
};

enum { N_RECORDED = sizeof recorded / sizeof *recorded };

/* The next of a stretch of neighbours, or of a new one; who of the three is called A, B and A again is drawn, for all are A.
 * Logarithms are scaled by `calm`, and B is made `b` times as slow. */
static struct verdict_block draw(
	struct machine *m, const struct recorded *r, size_t *at, double calm, double b)
{
	size_t first, second;

	*at = *at % STRETCH == STRETCH - 1 ? STRETCH * (size_t)(uniform(m) * (double)r->n)
					   : *at + 1;
	const uint32_t *t = r->v[(*at / STRETCH + *at % STRETCH) % r->n];

	first = (size_t)(3 * uniform(m));
	second = (first + 1 + (size_t)(2 * uniform(m))) % 3;
	return (struct verdict_block){ pow(t[first], calm), b * pow(t[second], calm),
		pow(t[3 - first - second], calm), uniform(m) < 0.5 };
}

static struct verdict compare_recorded(struct machine *m, const struct recorded *r, double calm,
	double b, size_t most, struct verdict *ret_first)
{
	static const struct verdict_options options = { .equivalence = 0.01, .gate = NAN };
	struct verdict_block blocks[BLOCKS];
	struct verdict v = { 0 };
	size_t n = 0, at = STRETCH - 1;

	while (!v.is_final && n < most) {
		size_t look = verdict_next_look(n) < most ? verdict_next_look(n) : most;

		while (n < look)
			blocks[n++] = draw(m, r, &at, calm, b);
		v = verdict_of(blocks, n, &options);
		if (n == VERDICT_FIRST_LOOK && ret_first)
			*ret_first = v;
	}
	return v;
}

struct sums {
	double n, mean, squares; /* from the mean */
};

static struct sums sums_of(struct machine *m, const struct recorded *r, int n)
{
	struct sums s = { 0 };

	for (int i = 0; i < n; i++) {
		double x = r->v[(size_t)(uniform(m) * (double)r->n)][(size_t)(3 * uniform(m))],
		       from = x - s.mean;

		s.n++;
		s.mean += from / s.n;
		s.squares += from * (x - s.mean);
	}
	return s;
}

/* Student's t of two samples at 95 %, as pyperf's compare_to has it. */
static bool pyperf_tells_apart(struct machine *m, const struct recorded *r)
{
	struct sums a = sums_of(m, r, PYPERF_VALUES), b = sums_of(m, r, PYPERF_VALUES);
	double pooled = (a.squares + b.squares) / (a.n + b.n - 2);

	return fabs(a.mean - b.mean) > 1.98 * sqrt(pooled * (1 / a.n + 1 / b.n));
}

/* "1.07 ± 0.05 times faster", as hyperfine has it, taken by its word. */
static bool hyperfine_tells_apart(struct machine *m, const struct recorded *r)
{
	struct sums a = sums_of(m, r, HYPERFINE_RUNS), b = sums_of(m, r, HYPERFINE_RUNS);
	double ratio = fmax(a.mean / b.mean, b.mean / a.mean),
	       spread = ratio *
		hypot(sqrt(a.squares / (a.n - 1)) / a.mean, sqrt(b.squares / (b.n - 1)) / b.mean);

	return ratio - spread > 1;
}

static void recorded_blocks_are_hardly_ever_told_apart(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_RECORDED; k++) {
		struct machine m = { .random = 217 + k };
		size_t wrong = 0, pyperf = 0, hyperfine = 0;

		for (int i = 0; i < RESAMPLED; i++) {
			struct verdict v = compare_recorded(&m, &recorded[k], 1, 1, BLOCKS, NULL);

			wrong += v.word == VERDICT_FASTER || v.word == VERDICT_SLOWER;
			pyperf += pyperf_tells_apart(&m, &recorded[k]);
			hyperfine += hyperfine_tells_apart(&m, &recorded[k]);
		}
		printf("%s: A told apart from A in %zu of %d; pyperf's procedure %zu, hyperfine's %zu\n",
			recorded[k].name, wrong, RESAMPLED, pyperf, hyperfine);
		if (wrong > RESAMPLED / 20)
			fail_msg("%s: %zu of %d wrong", recorded[k].name, wrong, RESAMPLED);
	}
}

static double spread_of(const struct recorded *r)
{
	double sum = 0, squares = 0, n = 0;

	for (size_t i = 0; i < r->n; i++)
		for (int k = 0; k < 3; k++) {
			double d = log((double)r->v[i][(k + 1) % 3] / r->v[i][k]);

			sum += d;
			squares += d * d;
			n++;
		}
	return sqrt(squares / n - pow(sum / n, 2));
}

/* In noise of the recorded shape, as strong as where nothing else runs: found within twice the blocks that one look would take,
 * and never the wrong way. */
static void three_percent_are_found_in_recorded_noise(void **state)
{
	static const double sd = 0.03, change = 1.03;
	size_t most = (size_t)ceil(2 * 10.5 * pow(sd / log(change), 2));

	(void)state;
	for (size_t k = 0; k < N_RECORDED; k++) {
		struct machine m = { .random = 317 + k };
		double calm = sd / spread_of(&recorded[k]);
		size_t found = 0, opposite = 0, too_many = 0;

		for (int i = 0; i < FEWER; i++) {
			struct verdict first = { 0 },
				       v = compare_recorded(
					       &m, &recorded[k], calm, change, most, &first);
			double bar = 2 * 10.5 * pow(first.sd / log(first.ratio), 2);

			found += v.word == VERDICT_SLOWER;
			opposite += v.word == VERDICT_FASTER;
			too_many += first.reason == VERDICT_TOO_WIDE && first.ratio > 1.01 &&
				(double)(first.n_blocks + first.n_more) >
					fmax(bar, 1.5 * (double)first.n_blocks) + 1;
		}
		printf("%s: 3 %% found in %zu of %d within %zu blocks\n", recorded[k].name, found,
			FEWER, most);
		if (found < FEWER * 9 / 10 || opposite > FEWER / 200 || too_many)
			fail_msg("%s: %zu of %d found, %zu the wrong way, %zu projected too many",
				recorded[k].name, found, FEWER, opposite, too_many);
	}
}

/* ---- single comparisons ---------------------------------------------------------------------- */

static void equal_ones_become_equivalent(void **state)
{
	static const struct verdict_options options = { .equivalence = 0.01, .gate = NAN };
	struct machine m = { .random = 9 };
	struct verdict_block blocks[BLOCKS];
	struct verdict v;

	(void)state;
	for (int i = 0; i < 40; i++)
		blocks[i] = (struct verdict_block){ exp(0.005 * normal(&m)),
			exp(0.005 * normal(&m)), exp(0.005 * normal(&m)), i % 2 };
	v = verdict_of(blocks, 40, &options);
	assert_int_equal(v.word, VERDICT_EQUIVALENT);
	assert_true(v.is_final && v.n_more == 0 && v.has_control);
	assert_true(v.interval.low > 0.99 && v.interval.high < 1.01);
}

static void without_enough_blocks_nothing_is_said(void **state)
{
	static const struct verdict_options options = { .equivalence = 0.01, .gate = 0.03 };
	struct verdict_block block = { 1, 2, 1, false };
	struct verdict v = verdict_of(NULL, 0, &options);

	(void)state;
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_true(isnan(v.ratio));
	v = verdict_of(&block, 1, &options);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_int_equal(v.reason, VERDICT_TOO_FEW);
	assert_int_equal(v.gate, VERDICT_GATE_UNDECIDED);
}

/* A machine on which A differs from A decides nothing, however different B is. */
static void a_control_that_fails_takes_the_verdict(void **state)
{
	static const struct verdict_options options = { .equivalence = 0.01, .gate = 0.03 };
	struct verdict_block blocks[30];
	struct machine m = { .random = 3 };
	struct verdict v;

	(void)state;
	for (int i = 0; i < 30; i++)
		blocks[i] = (struct verdict_block){ exp(0.01 * normal(&m)),
			1.2 * exp(0.01 * normal(&m)), 1.1 * exp(0.01 * normal(&m)), i % 2 };
	v = verdict_of(blocks, 30, &options);
	assert_int_equal(v.word, VERDICT_UNDECIDED);
	assert_int_equal(v.reason, VERDICT_CONTROL_FAILED);
	assert_int_equal(v.gate, VERDICT_GATE_UNDECIDED);
	for (int i = 0; i < 30; i++)
		blocks[i].again = NAN;
	v = verdict_of(blocks, 30, &options);
	assert_int_equal(v.word, VERDICT_SLOWER);
	assert_int_equal(v.gate, VERDICT_FAILED);
	assert_false(v.has_control);
}

static void oddities_are_told(void **state)
{
	static const struct verdict_options options = { .equivalence = 0.01, .gate = NAN };
	struct verdict_block blocks[60];
	struct machine m = { .random = 31 };
	struct verdict v;

	(void)state;
	for (int i = 0; i < 60; i++) {
		bool first = i % 3 == 0;
		double a = (i < 30 ? 1 : 1.6) * exp(0.002 * normal(&m));

		blocks[i] = (struct verdict_block){ a,
			a * (first ? 1.1 : 1.0) * exp(0.002 * normal(&m)), a, first };
	}
	v = verdict_of(blocks, 60, &options);
	assert_true(v.has_trend && v.is_bimodal && v.has_order_effect);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_against_itself_is_hardly_ever_different),
		cmocka_unit_test(a_change_of_three_percent_is_found),
		cmocka_unit_test(what_it_says_is_needed_is_needed),
		cmocka_unit_test(recorded_blocks_are_hardly_ever_told_apart),
		cmocka_unit_test(three_percent_are_found_in_recorded_noise),
		cmocka_unit_test(equal_ones_become_equivalent),
		cmocka_unit_test(without_enough_blocks_nothing_is_said),
		cmocka_unit_test(a_control_that_fails_takes_the_verdict),
		cmocka_unit_test(oddities_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
