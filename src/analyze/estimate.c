/* SPDX-License-Identifier: MIT
 * See estimate.h. */
#include "analyze/estimate.h"

#include <math.h>
#include <stdbool.h>

#include "base/units.h"
#include "wire/records.h"
#include "base/banned.h"

/* What watching may really have cost, as a part of the calibrated cost: caches are cold and code is not specialised when a
 * window opens. */
#define COST_LEAST   1.0
#define COST_LIKELY  1.9
#define COST_MOST    2.8
#define COST_DIFFERS 0.4 /* … of one function's calls from that of others, as a part */
static const double SPELLS_LEAST = 3;  /* windows with calls, were they alike in these */
static const double SELF_LEAST = 0.05; /* … and of a function's own time in windows */
static const double NET_LEAST = 0.1;   /* part of a window that is the program's at least */

/* Of Student's t with n − 1 degrees of freedom, 97.5 %. */
static double quantile(double n)
{
	double d = n - 1;

	return 1.96 + 2.4 / d + 8.0 / (d * d * d);
}

/* Calls came in spells so rare that windows may as well have missed most of them. */
static bool is_rare(const struct rec_budget *r)
{
	double calls = (double)r->calls, windows = (double)r->n_windows;
	double seen_in = r->calls_squared > 0 ? calls * calls / r->calls_squared : 0;

	return seen_in < SPELLS_LEAST && seen_in < windows / 2;
}

static double net_of(const struct rec_budget *r, double cost_factor)
{
	double span = (double)r->window_ns;

	return fmax(span - cost_factor * (double)r->window_cost_ns, NET_LEAST * span);
}

/* From being switched off to the first window: it may have gone on as before, or stopped at once. */
static double gap_calls(const struct rec_budget *r, double *ret_half)
{
	double gap = (double)r->gap_ns, most = fmax(r->off_rate, r->first_rate);

	*ret_half = gap * most * 0.6;
	return gap * (r->off_rate + r->first_rate) / 2;
}

/* Half of the 95 % interval of calls per ns, from how windows differ: of a ratio of sums over them. Their lengths were
 * summed less the calibrated cost. */
static double spread_of(const struct rec_budget *r)
{
	double n = (double)r->n_windows, net = net_of(r, 1), rate = (double)r->calls / net;
	double squares = r->calls_squared - 2 * rate * r->calls_net + rate * rate * r->net_squared;

	return sqrt(fmax(squares, 0) / (n * (n - 1))) / (net / n) * quantile(n);
}

/* Calls outside of windows, were watching so much dearer than calibrated. */
static double calls_at(const struct rec_budget *r, double cost_factor, double off, double gap)
{
	return (double)r->calls / net_of(r, cost_factor) * off + gap;
}

/* One's own time outside of windows: what watching cost is no part of its own time, as it is none of the window's. doubt:
 * by which part it costs this function more than others. */
static double self_at(
	const struct rec_budget *r, double cost_factor, double inside_ns, double doubt, double off)
{
	double n = (double)r->calls + (double)r->resumes, raw = (double)r->self_ns / n;
	double each = fmax(raw - cost_factor * inside_ns * (1 + doubt), SELF_LEAST * raw);

	return each / 1e9 *
		(calls_at(r, cost_factor, off, 0) +
			(double)r->resumes / net_of(r, cost_factor) * off);
}

static void add_self(struct estimate *e, const struct rec_budget *r, double inside_ns, double off,
	double relative_spread)
{
	static const double factors[] = { COST_LEAST, COST_LIKELY, COST_MOST };
	double low = INFINITY, high = 0;

	e->self_s = self_at(r, COST_LIKELY, inside_ns, 0, off);
	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
		low = fmin(low, self_at(r, factors[i], inside_ns, COST_DIFFERS, off));
		high = fmax(high, self_at(r, factors[i], inside_ns, -COST_DIFFERS, off));
	}
	e->self_low_s = low * fmax(1 - relative_spread, 0);
	if (!is_rare(r))
		e->self_high_s = high * (1 + relative_spread);
}

struct estimate estimate_of(const struct rec_budget *r, double inside_ns)
{
	double net = net_of(r, COST_LIKELY), gap_ns = (double)r->gap_ns;
	double off = (double)r->off_ns - (double)r->window_ns - (double)r->outside_cost_ns;
	double spread, half, gap = gap_calls(r, &half);
	struct estimate e = { .calls_high = UNITS_UNKNOWN, .self_high_s = UNITS_UNKNOWN };

	off = fmax(off - gap_ns, 0);
	if (r->n_windows < 2 || net <= 0) {
		e.calls =
			r->off_rate * (double)r->off_ns; /* it may have stopped the moment after */
		return e;
	}
	e.calls = calls_at(r, COST_LIKELY, off, gap);
	e.resumes = (double)r->resumes / net * (off + gap_ns);
	/* None seen is not none there: a spell as long as between two windows may have been missed. */
	spread = fmax(spread_of(r) * net_of(r, 1) / net, 3 / net) * off + half;
	e.calls_low = fmax(calls_at(r, COST_LEAST, off, gap) - spread, 0);
	if (!is_rare(r))
		e.calls_high = calls_at(r, COST_MOST, off, gap) + spread;
	if (r->calls + r->resumes > 0)
		add_self(&e, r, inside_ns, off + gap_ns, e.calls > 0 ? spread / e.calls : 1);
	return e;
}
