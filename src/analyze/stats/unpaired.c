/* SPDX-License-Identifier: MIT
 * See unpaired.h. */
#include "analyze/stats/unpaired.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/distribution.h"
#include "analyze/stats/series.h"
#include "base/arena.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum { GROUPS = 20, DRAWS = 2000 };

static const double alpha = 0.05;

static void judge(struct unpaired *u, const struct verdict_options *o, bool is_unlike)
{
	u->word = VERDICT_UNDECIDED;
	u->is_unlike = is_unlike;
	if (!is_unlike) {
		if (u->interval.low > 1 - o->equivalence && u->interval.high < 1 + o->equivalence)
			u->word = VERDICT_EQUIVALENT;
		else if (u->interval.high < 1)
			u->word = VERDICT_FASTER;
		else if (u->interval.low > 1)
			u->word = VERDICT_SLOWER;
	}
	if (isnan(o->gate))
		return;
	u->gate = is_unlike                      ? VERDICT_GATE_UNDECIDED
		: u->interval.high < 1 + o->gate ? VERDICT_PASSED
		: u->interval.low > 1 + o->gate  ? VERDICT_FAILED
						 : VERDICT_GATE_UNDECIDED;
}

/* Logarithms of one time per process, or per group of neighbours where there is but one process. */
static size_t take_times(struct arena *a, const struct series *s, double **ret)
{
	const struct series_process *p = &s->processes[0];
	size_t n = p->n - p->n_warmup, n_groups = n < GROUPS ? n : GROUPS;
	double *to = arena_new_n(a, double, s->n > n_groups ? s->n : n_groups);

	*ret = to;
	if (s->n > 1) {
		for (size_t i = 0; i < s->n; i++)
			to[i] = log(fmax(1e-12, series_process_time(&s->processes[i])));
		return s->n;
	}
	for (size_t i = 0; i < n_groups; i++) {
		size_t from = i * n / n_groups, until = (i + 1) * n / n_groups;
		double sum = 0;

		for (size_t k = from; k < until; k++)
			sum += p->v[p->n_warmup + k].seconds;
		to[i] = log(fmax(1e-12, sum / (double)(until - from)));
	}
	return n_groups;
}

struct unpaired unpaired_series(struct arena *a, const struct series *of_a,
	const struct series *of_b, const struct verdict_options *o, bool is_unlike)
{
	struct unpaired u = { .is_of_processes = of_a->n > 1 && of_b->n > 1,
		.a_s = series_summarise(a, of_a).d.median,
		.b_s = series_summarise(a, of_b).d.median };
	double *x, *y;
	struct centre c;

	u.n_a = take_times(a, of_a, &x);
	u.n_b = take_times(a, of_b, &y);
	c = distribution_shift(x, u.n_a, y, u.n_b, alpha);
	u.ratio = exp(c.estimate);
	u.interval = (struct interval){ exp(c.interval.low), exp(c.interval.high) };
	judge(&u, o, is_unlike);
	return u;
}

/* How many neighbours to keep together: as far as they depend on each other, at least the usual cube root. */
static size_t block_length(const double *logs, size_t n)
{
	double r = fmin(0.98, fmax(0, distribution_autocorrelation(logs, n)));
	double length = fmax(cbrt((double)n), 3 * (1 + r) / (1 - r));

	length = fmin(length, (double)n / 5);
	return length < 1 ? 1 : (size_t)length;
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % below;
}

/* The median of n values drawn from v in blocks that go round at its end. */
static double drawn_median(const double *v, size_t n, size_t block, uint64_t *random, double *room)
{
	for (size_t i = 0; i < n;) {
		size_t from = draw(random, n);

		for (size_t k = 0; k < block && i < n; k++)
			room[i++] = v[(from + k) % n];
	}
	distribution_sort(room, n);
	return distribution_quantile(room, n, 0.5);
}

static void logs_of(double *to, const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = log(v[i]);
}

struct unpaired unpaired_steps(const double *a, size_t n_a, const double *b, size_t n_b,
	const struct verdict_options *o, bool is_unlike)
{
	size_t most = n_a > n_b ? n_a : n_b;
	double *x = xmalloc((n_a + n_b + most + DRAWS) * sizeof *x), *y = x + n_a, *room = y + n_b;
	double *ratios = room + most;
	size_t block_a, block_b;
	uint64_t random = 1;
	struct unpaired u = { .n_a = n_a, .n_b = n_b };

	logs_of(x, a, n_a);
	logs_of(y, b, n_b);
	block_a = block_length(x, n_a);
	block_b = block_length(y, n_b);
	u.block = block_a > block_b ? block_a : block_b;
	u.a_s = distribution_of(a, n_a).median;
	u.b_s = distribution_of(b, n_b).median;
	u.ratio = u.b_s / u.a_s;
	for (size_t i = 0; i < DRAWS; i++)
		ratios[i] = drawn_median(y, n_b, block_b, &random, room) -
			drawn_median(x, n_a, block_a, &random, room);
	distribution_sort(ratios, DRAWS);
	u.interval = (struct interval){ exp(distribution_quantile(ratios, DRAWS, alpha / 2)),
		exp(distribution_quantile(ratios, DRAWS, 1 - alpha / 2)) };
	free(x);
	judge(&u, o, is_unlike);
	return u;
}

const char *unpaired_why_undecided(const struct unpaired *u)
{
	return u->is_unlike ? "measured under different conditions, see below"
			    : "the noise is larger than the difference";
}
