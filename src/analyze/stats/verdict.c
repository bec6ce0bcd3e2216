/* SPDX-License-Identifier: MIT
 * See verdict.h. */
#include "analyze/stats/verdict.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/stats/distribution.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* All looks up to VERDICT_MOST_BLOCKS together exceed this normal deviate in 5 of 100 comparisons of A with itself (200 000
 * simulated walks at the looks 10, 15, 23, 35 …); a single look in 0.65 of 100. */
static const double limit_all_looks = 2.72;
static const double power_90 = 1.2816; /* deviate that 9 of 10 stay below */
/* deviate from which a trend or an order effect is told: 1 in 1000 */
static const double odd = 3.3;

const char *const verdict_words[] = { "faster", "slower", "equivalent", "undecided", NULL };

size_t verdict_next_look(size_t n)
{
	size_t look = VERDICT_FIRST_LOOK;

	while (look <= n)
		look = (3 * look + 1) / 2;
	return look < VERDICT_MOST_BLOCKS ? look : VERDICT_MOST_BLOCKS;
}

const char *verdict_reason_text(enum verdict_reason r)
{
	switch (r) {
	case VERDICT_NO_REASON:
		return "";
	case VERDICT_TOO_FEW:
		return "too few blocks";
	case VERDICT_TOO_WIDE:
		return "the noise is larger than the difference";
	case VERDICT_CONTROL_FAILED:
		return "A differs from itself, so the machine matters more than the code";
	}
	return "";
}

/* The interval of log ratios at one look, wider where neighbours depend on each other. */
static struct centre centre_of(const double *d, size_t n, double autocorrelation)
{
	struct centre c = distribution_centre(d, n, erfc(limit_all_looks / M_SQRT2));
	double wider = autocorrelation > 0.3
		? sqrt((1 + autocorrelation) / (1 - fmin(autocorrelation, 0.95)))
		: 1;

	c.interval.low = c.estimate - wider * (c.estimate - c.interval.low);
	c.interval.high = c.estimate + wider * (c.interval.high - c.estimate);
	return c;
}

static bool is_inside(struct interval i, double reach)
{
	return i.low > log1p(-reach) && i.high < log1p(reach);
}

static bool holds(struct interval i, double value)
{
	return i.low <= value && value <= i.high;
}

/* What B costs where it ran before A, against where it ran after: Welch's test. */
static bool order_matters(const struct verdict_block *b, const double *d, size_t n)
{
	double sum[2] = { 0 }, square[2] = { 0 }, count[2] = { 0 }, variance = 0;

	for (size_t i = 0; i < n; i++) {
		sum[b[i].b_first] += d[i];
		square[b[i].b_first] += d[i] * d[i];
		count[b[i].b_first]++;
	}
	if (count[0] < 5 || count[1] < 5)
		return false;
	for (int i = 0; i < 2; i++) {
		sum[i] /= count[i];
		variance += fmax(0, square[i] / count[i] - sum[i] * sum[i]) / (count[i] - 1);
	}
	return fabs(sum[0] - sum[1]) > odd * sqrt(variance) && variance > 0;
}

/* Blocks needed for the interval to shrink from where it is to `room`: it goes with 1/√n. */
static size_t more_blocks(const struct verdict *v, double estimate, double equivalence)
{
	double reach = limit_all_looks + power_90, room = log1p(equivalence);
	/* Either the difference grows out of the noise, or the noise shrinks into the equivalence. */
	double different = fabs(estimate), alike = room - fabs(estimate), needed;
	double gap = different > alike ? different : alike;

	if (!(gap > 0))
		return SIZE_MAX;
	needed = v->sd > 0 ? ceil(pow(reach * v->sd / gap, 2)) : 0; /* one block has no spread */
	if (v->n_blocks < VERDICT_FIRST_LOOK)
		needed = fmax(needed, VERDICT_FIRST_LOOK);
	else if (needed <= (double)v->n_blocks) /* what was seen so far was bad luck */
		needed = ceil(1.5 * (double)v->n_blocks);
	return needed < 1e9 ? (size_t)needed - v->n_blocks : SIZE_MAX;
}

static void judge(struct verdict *v, struct centre c, struct centre control, double equivalence)
{
	/* The control speaks only at the 99.9 % level of one look: a control that fails by chance would cost a verdict. */
	bool differs_from_itself = v->has_control &&
		(!holds(control.interval, 0) && !is_inside(control.interval, equivalence));

	v->word = VERDICT_UNDECIDED;
	v->reason = VERDICT_NO_REASON;
	v->n_more = 0;
	if (v->n_blocks < VERDICT_FIRST_LOOK)
		v->reason = VERDICT_TOO_FEW;
	else if (differs_from_itself)
		v->reason = VERDICT_CONTROL_FAILED;
	else if (is_inside(c.interval, equivalence))
		v->word = VERDICT_EQUIVALENT;
	else if (!holds(c.interval, 0))
		v->word = c.estimate < 0 ? VERDICT_FASTER : VERDICT_SLOWER;
	else
		v->reason = VERDICT_TOO_WIDE;
	v->is_final = v->word != VERDICT_UNDECIDED || v->n_blocks >= VERDICT_MOST_BLOCKS;
	if (v->word == VERDICT_UNDECIDED)
		v->n_more = v->reason == VERDICT_CONTROL_FAILED
			? SIZE_MAX
			: more_blocks(v, c.estimate, equivalence);
}

/* Against a gate: the interval is on one side of it, or nothing is known. */
static void judge_gate(struct verdict *v, struct centre c, double gate)
{
	if (isnan(gate))
		return;
	if (v->reason == VERDICT_CONTROL_FAILED || v->reason == VERDICT_TOO_FEW)
		v->gate = VERDICT_GATE_UNDECIDED;
	else if (c.interval.high < log1p(gate))
		v->gate = VERDICT_PASSED;
	else
		v->gate = c.interval.low > log1p(gate) ? VERDICT_FAILED : VERDICT_GATE_UNDECIDED;
	v->is_final = v->gate != VERDICT_GATE_UNDECIDED || v->n_blocks >= VERDICT_MOST_BLOCKS;
}

static struct interval ratios(struct interval logs)
{
	return (struct interval){ exp(logs.low), exp(logs.high) };
}

struct verdict verdict_of(
	const struct verdict_block *blocks, size_t n, const struct verdict_options *o)
{
	struct verdict v = { .word = VERDICT_UNDECIDED,
		.reason = VERDICT_TOO_FEW,
		.ratio = NAN,
		.control_ratio = NAN,
		.detectable = NAN,
		.sd = NAN,
		.n_more = VERDICT_FIRST_LOOK,
		.interval = { 0, INFINITY },
		.control = { 0, INFINITY } };
	struct centre c, control = { NAN, { -INFINITY, INFINITY } };
	double *d, *again, *a;
	size_t n_again = 0;

	n = n < VERDICT_MOST_BLOCKS ? n : VERDICT_MOST_BLOCKS;
	v.n_blocks = n;
	if (n == 0)
		return v;
	d = xmalloc(3 * n * sizeof *d);
	again = d + n;
	a = again + n;
	for (size_t i = 0; i < n; i++) {
		a[i] = log(
			blocks[i]
				.a); /* a ratio of extremes would be infinite, its logarithm is not */
		d[i] = log(blocks[i].b) - a[i];
		if (!isnan(blocks[i].again))
			again[n_again++] = log(blocks[i].again) - a[i];
		v.n_b_won += blocks[i].b < blocks[i].a;
	}
	v.autocorrelation = distribution_autocorrelation(d, n);
	v.has_trend = fabs(distribution_trend(a, n)) > odd;
	v.is_bimodal = distribution_is_bimodal(a, n);
	v.has_order_effect = order_matters(blocks, d, n);
	v.sd = distribution_of(d, n).sd;
	v.detectable = expm1((limit_all_looks + power_90) * v.sd / sqrt((double)n));
	c = centre_of(d, n, v.autocorrelation);
	v.has_control = n_again > 0;
	if (v.has_control)
		control = distribution_centre(again, n_again, 0.001);
	judge(&v, c, control, o->equivalence);
	judge_gate(&v, c, o->gate);
	v.ratio = exp(c.estimate);
	v.interval = ratios(c.interval);
	if (v.has_control) {
		control.interval = distribution_centre(again, n_again, 0.05).interval;
		v.control_ratio = exp(control.estimate);
		v.control = ratios(control.interval);
	}
	free(d);
	return v;
}

double verdict_median(const struct verdict_result *v, bool of_b)
{
	double *t = xmalloc((v->verdict->n_blocks + 1) * sizeof *t), m;

	for (size_t i = 0; i < v->verdict->n_blocks; i++)
		t[i] = of_b ? v->blocks[i].b : v->blocks[i].a;
	distribution_sort(t, v->verdict->n_blocks);
	m = v->verdict->n_blocks ? distribution_quantile(t, v->verdict->n_blocks, 0.5) : NAN;
	free(t);
	return m;
}
