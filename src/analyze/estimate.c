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
static const double COST_LEAST = 1, COST_LIKELY = 1.9, COST_MOST = 2.8;
static const double SPELLS_LEAST = 3; /* windows with calls, were they alike in these */
static const double NET_LEAST = 0.1;  /* part of a window that is the program's at least */

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

struct estimate estimate_of(const struct rec_budget *r, double inside_ns)
{
	double calls = (double)r->calls, net = net_of(r, COST_LIKELY);
	double off = (double)r->off_ns - (double)r->window_ns - (double)r->outside_cost_ns;
	double spread, half, gap = gap_calls(r, &half), each_s, doubt_s;
	struct estimate e = { .calls_high = UNITS_UNKNOWN, .self_high_s = UNITS_UNKNOWN };

	off = fmax(off - (double)r->gap_ns, 0);
	if (r->n_windows < 2 || net <= 0)
		return e;
	e.calls = calls / net * off + gap;
	e.resumes = (double)r->resumes / net * (off + (double)r->gap_ns);
	/* None seen is not none there: a spell as long as between two windows may have been missed. */
	spread = fmax(spread_of(r) * net_of(r, 1) / net, 3 / net) * off + half;
	e.calls_low = fmax(calls / net_of(r, COST_LEAST) * off + gap - spread, 0);
	if (!is_rare(r))
		e.calls_high = calls / net_of(r, COST_MOST) * off + gap + spread;
	if (calls + (double)r->resumes <= 0)
		return e;
	each_s = (double)r->self_ns / (calls + (double)r->resumes) / 1e9;
	doubt_s = inside_ns / 3 / 1e9;
	each_s = fmax(each_s - inside_ns / 1e9, 0);
	e.self_s = each_s * (e.calls + e.resumes);
	e.self_low_s = fmax(0.9 * each_s - doubt_s, 0) *
		(e.calls_low + e.resumes * (e.calls > 0 ? e.calls_low / e.calls : 0.5));
	e.self_high_s = (1.1 * each_s + doubt_s) *
		(e.calls_high + e.resumes * (e.calls > 0 ? e.calls_high / e.calls : 2));
	return e;
}
