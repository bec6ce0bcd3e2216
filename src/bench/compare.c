/* SPDX-License-Identifier: MIT
 * See compare.h. */
#include "bench/compare.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/err.h"
#include "base/vec.h"
#include "bench/child.h"
#include "bench/random_layout.h"
#include "base/banned.h"

enum { A, B, AGAIN, SIDES };

static const double block_s = 0.5; /* rounds fill so long */

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* A shuffled row of the sides (Fisher and Yates). */
static void draw_order(int order[SIDES], int n, uint64_t *random)
{
	for (int i = 0; i < SIDES; i++)
		order[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int k = (int)(random_next(random) % (uint64_t)(i + 1)), other = order[i];

		order[i] = order[k];
		order[k] = other;
	}
}

/* Each side once; s: the least so far. */
static int run_round(const struct contender *a, const struct contender *b, const int order[SIDES],
	int n, uint64_t seed, double s[SIDES], struct err *e)
{
	for (int i = 0; i < n; i++) {
		const struct contender *c = order[i] == B ? b : a;
		double one = 0;

		if (c->time(c->ctx, seed, &one, e) < 0)
			return -(int)e->code;
		if (!(one > 0))
			return err_set(e, ERR_MEASURED,
				"'%s' takes too little time to measure; compare more of it at once",
				c->name);
		s[order[i]] = fmin(s[order[i]], one); /* which passes over NAN */
	}
	return 0;
}

static int run_block(const struct contender *a, const struct contender *b, bool no_control,
	unsigned rounds, uint64_t *random, struct verdict_block *ret, struct err *e)
{
	double s[SIDES] = { NAN, NAN, NAN };
	int order[SIDES], n = no_control ? AGAIN : SIDES;
	uint64_t seed = random_next(random);
	bool b_first = false;

	for (unsigned k = 0; k < rounds; k++) {
		draw_order(order, n, random);
		for (int i = 0; k == 0 && order[i] != A; i++)
			b_first |= order[i] == B;
		if (run_round(a, b, order, n, seed, s, e) < 0)
			return -(int)e->code;
	}
	*ret = (struct verdict_block){ s[A], s[B], s[AGAIN], b_first };
	return 0;
}

/* Both sides once; ret_s: how long that took, processes and all. */
static int warm_up(
	const struct contender *a, const struct contender *b, double *ret_s, struct err *e)
{
	struct timespec start;
	double ignored;

	clock_gettime(CLOCK_MONOTONIC, &start);
	if (a->time(a->ctx, 1, &ignored, e) < 0)
		return err_note(e, "A");
	if (b->time(b->ctx, 1, &ignored, e) < 0)
		return err_note(e, "B");
	*ret_s = seconds_since(&start);
	return 0;
}

/* A first run may read files: what seems short enough is timed once more. */
static int choose_rounds(const struct contender *a, const struct contender *b,
	const struct compare_options *o, unsigned *ret, struct err *e)
{
	double both_s = 0, room = fmin(block_s, o->time_s / (2 * VERDICT_FIRST_LOOK));

	*ret = 1;
	if (warm_up(a, b, &both_s, e) < 0 ||
		(o->rounds == 0 && both_s < 2 * room && warm_up(a, b, &both_s, e) < 0))
		return -(int)e->code;
	if (o->rounds)
		*ret = o->rounds;
	else if (room > 1.5 * both_s)
		*ret = (unsigned)fmin(COMPARE_MOST_ROUNDS, room / (1.5 * both_s));
	return 0;
}

/* Whether the next look comes too late: no time is left for the blocks up to it. */
static bool is_over(const struct compare_options *o, size_t n, double elapsed)
{
	if (o->blocks)
		return n >= o->blocks;
	return n >= VERDICT_MOST_BLOCKS || elapsed >= o->time_s;
}

int compare_run(const struct contender *a, const struct contender *b,
	const struct compare_options *o, struct comparison *ret, struct err *e)
{
	VEC(struct verdict_block) blocks = VEC_INIT;
	uint64_t random = o->seed;
	struct timespec start;
	int status;

	*ret = (struct comparison){ 0 };
	clock_gettime(CLOCK_MONOTONIC, &start);
	status = choose_rounds(a, b, o, &ret->rounds, e);
	while (status == 0 && !child_was_interrupted() &&
		!is_over(o, blocks.n, seconds_since(&start))) {
		struct verdict_block one;

		status = run_block(a, b, o->no_control, ret->rounds, &random, &one, e);
		if (status < 0)
			break;
		vec_push(&blocks, one);
		if (o->on_block)
			o->on_block(o->ctx, blocks.n, seconds_since(&start));
		if (!o->blocks && blocks.n == verdict_next_look(blocks.n - 1) &&
			verdict_of(blocks.v, blocks.n, &o->verdict).is_final)
			break;
	}
	ret->blocks = blocks.v;
	ret->n = blocks.n;
	ret->elapsed_s = seconds_since(&start);
	ret->verdict = verdict_of(blocks.v, blocks.n, &o->verdict);
	return child_was_interrupted() && blocks.n ? 0 : status;
}

void comparison_done(struct comparison *c)
{
	free(c->blocks);
	*c = (struct comparison){ 0 };
}
