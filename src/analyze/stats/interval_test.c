/* SPDX-License-Identifier: MIT
 *
 * Whether 95 % intervals hold the truth that often. Programs whose shares are known are sampled as the
 * sampler does it, at random distances of a half to one and a half of the mean, by a generator with a fixed
 * seed: the outcome is the same in every run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/samples/profile.h"
#include "analyze/samples/stacks_rig.h"

enum { RECORDINGS = 400, COVERED = 372, SAMPLES = 600 };

static const double MEAN_NS = 1e6;

static uint64_t seed;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / (double)(1ull << 53);
}

static double exponential(double mean)
{
	return -mean * log(1 - uniform());
}

/* A program: it is in "b" for a share of the time, else in "a", in turns of random length. */
struct program {
	double share, turn_ns; /* mean of both turns together; 0: each instant is independent */
	bool is_b;
	double until_ns, b_ns; /* the turn's end; time in b so far */
};

/* Lets the program run from one instant to another; returns whether it is in b then. */
static bool run_until(struct program *p, double from_ns, double to_ns)
{
	if (p->turn_ns == 0) {
		p->b_ns += (to_ns - from_ns) * p->share;
		return uniform() < p->share;
	}
	while (p->until_ns <= to_ns) {
		if (p->is_b)
			p->b_ns += p->until_ns - from_ns;
		from_ns = p->until_ns;
		p->is_b = !p->is_b;
		p->until_ns += exponential(p->turn_ns * (p->is_b ? p->share : 1 - p->share));
	}
	if (p->is_b)
		p->b_ns += to_ns - from_ns;
	return p->is_b;
}

struct outcome {
	bool is_covered;
	double width; /* in widths of the binomial interval of that many samples */
};

/* in_lockstep: all threads do what the first does. */
static struct outcome record(
	struct program program, size_t n_threads, double late, bool in_lockstep)
{
	struct program threads[RIG_THREADS];
	double now = 0, b_ns = 0, truth, binomial;
	const struct profile *p;
	struct outcome r = { 0 };
	struct rig m;
	bool is_b = false;

	rig_begin(&m);
	for (size_t t = 0; t < n_threads; t++)
		threads[t] = program;
	for (int i = 0; i < SAMPLES; i++) {
		double next = now + MEAN_NS * (0.5 + uniform());

		if (uniform() < late) /* the sampler did not get the CPU */
			next += exponential(3 * MEAN_NS);
		for (size_t t = 0; t < n_threads; t++) {
			if (!t || !in_lockstep)
				is_b = run_until(&threads[t], now, next);
			threads[t].b_ns = in_lockstep ? threads[0].b_ns : threads[t].b_ns;
			rig_sample_ns(&m, (uint64_t)next, t, is_b ? "mb" : "ma", 0);
		}
		now = next;
	}
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	for (size_t t = 0; t < n_threads; t++)
		b_ns += threads[t].b_ns;
	truth = b_ns / (now * (double)n_threads);
	binomial = 2 * 1.96 * sqrt(truth * (1 - truth) / (double)(SAMPLES * (uint64_t)n_threads));
	for (size_t i = 0; i < p->n_functions; i++) {
		struct interval x = p->functions[i].cost.self;

		if (strcmp(p->functions[i].name, "b") == 0)
			r = (struct outcome){ x.low <= truth && truth <= x.high,
				(x.high - x.low) / binomial };
	}
	rig_done(&m);
	return r;
}

static void assert_coverage_of(
	const char *what, struct program program, size_t n_threads, double late, bool in_lockstep)
{
	unsigned covered = 0;
	double widest = 0;

	seed = 88172645463325252u;
	for (int i = 0; i < RECORDINGS; i++) {
		struct outcome o = record(program, n_threads, late, in_lockstep);

		covered += o.is_covered;
		widest = fmax(widest, o.width);
	}
	printf("%s: %u of %d inside, at most %.2f times as wide as binomial\n", what, covered,
		RECORDINGS, widest);
	assert_true(covered >= COVERED);
	/* Samples of one look count as one, whether they agree or not. */
	assert_true(widest <= 1.5 * sqrt((double)n_threads));
}

static void assert_coverage(const char *what, struct program program, size_t n_threads, double late)
{
	assert_coverage_of(what, program, n_threads, late, false);
}

static void intervals_hold_independent_shares(void **state)
{
	(void)state;
	assert_coverage("10 %", (struct program){ .share = 0.1 }, 1, 0);
	assert_coverage("30 %", (struct program){ .share = 0.3 }, 1, 0);
	assert_coverage("90 %", (struct program){ .share = 0.9 }, 1, 0);
}

static void intervals_hold_shares_of_programs_in_turns(void **state)
{
	(void)state;
	assert_coverage("turns of 0.1 ms", (struct program){ .share = 0.3, .turn_ns = 1e5 }, 1, 0);
	assert_coverage("turns of 2 ms", (struct program){ .share = 0.3, .turn_ns = 2e6 }, 1, 0);
	assert_coverage("turns of 100 ms", (struct program){ .share = 0.3, .turn_ns = 1e8 }, 1, 0);
}

static void intervals_hold_shares_of_several_threads(void **state)
{
	(void)state;
	assert_coverage("three threads", (struct program){ .share = 0.2, .turn_ns = 5e6 }, 3, 0);
}

static void intervals_hold_shares_of_threads_in_lockstep(void **state)
{
	(void)state;
	assert_coverage_of("lockstep", (struct program){ .share = 0.3 }, 4, 0, true);
	assert_coverage_of(
		"lockstep in turns", (struct program){ .share = 0.2, .turn_ns = 2e6 }, 4, 0, true);
}

static void intervals_hold_when_the_sampler_is_late(void **state)
{
	(void)state;
	assert_coverage("late looks", (struct program){ .share = 0.3 }, 1, 0.05);
	assert_coverage(
		"late looks at turns", (struct program){ .share = 0.3, .turn_ns = 2e6 }, 1, 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_hold_independent_shares),
		cmocka_unit_test(intervals_hold_shares_of_programs_in_turns),
		cmocka_unit_test(intervals_hold_shares_of_several_threads),
		cmocka_unit_test(intervals_hold_shares_of_threads_in_lockstep),
		cmocka_unit_test(intervals_hold_when_the_sampler_is_late),
	};

	return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
