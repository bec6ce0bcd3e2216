/* SPDX-License-Identifier: MIT
 * See estimate.h. */
#include "analyze/calls/estimate.h"

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

/* Outside of windows, and not counted, less what watching others cost. */
static double blind_of(const struct rec_budget *r, double ns)
{
	double outside = fmax((double)r->off_ns - (double)r->window_ns, 0);
	double cost = fmin((double)r->outside_cost_ns, outside);

	if (!r->tells_blind)
		return fmax(outside - cost, 0);
	return outside > 0 ? ns * fmax(1 - cost / outside, NET_LEAST) : ns;
}

/* From being switched off to the first window: it may have gone on as before, or stopped at once. */
static double gap_calls(const struct rec_budget *r, double gap, double *ret_half)
{
	double most = fmax(r->off_rate, r->first_rate);

	*ret_half = gap * most * 0.6;
	return gap * (r->off_rate + r->first_rate) / 2;
}

/* Half of the range of calls per ns, from how windows differ: of a ratio of sums over them. Their lengths were
 * summed less the calibrated cost. */
static double spread_of(const struct rec_budget *r)
{
	double n = (double)r->n_windows, net = net_of(r, 1), rate = (double)r->calls / net;
	double squares = r->calls_squared - 2 * rate * r->calls_net + rate * rate * r->net_squared;

	return sqrt(fmax(squares, 0) / (n * (n - 1))) / (net / n) * quantile(n);
}

/* What happened outside of windows while nobody counted. */
struct blind {
	double off, gap; /* ns; gap: before the first window */
	double gap_calls, gap_half;
};

static struct blind blind_build(const struct rec_budget *r)
{
	struct blind b = { .gap = r->tells_blind ? blind_of(r, (double)r->gap_ns)
						 : (double)r->gap_ns };

	b.off = fmax(blind_of(r, (double)r->blind_ns) - b.gap, 0);
	b.gap_calls = gap_calls(r, b.gap, &b.gap_half);
	return b;
}

/* Calls outside of windows, were watching so much dearer than calibrated. */
static double calls_at(const struct rec_budget *r, double cost_factor, const struct blind *b)
{
	return (double)r->counted + (double)r->calls / net_of(r, cost_factor) * b->off +
		b->gap_calls;
}

static double resumes_at(const struct rec_budget *r, double cost_factor, const struct blind *b)
{
	return (double)r->counted_resumes +
		(double)r->resumes / net_of(r, cost_factor) * (b->off + b->gap);
}

/* One's own time outside of windows: what watching cost is no part of its own time, as it is none of the window's. doubt:
 * by which part it costs this function more than others. */
static double self_at(const struct rec_budget *r, double cost_factor, double inside_ns,
	double doubt, const struct blind *b)
{
	double n = (double)r->calls + (double)r->resumes, raw = (double)r->self_ns / n;
	double each = fmax(raw - cost_factor * inside_ns * (1 + doubt), SELF_LEAST * raw);

	return each / 1e9 * (calls_at(r, cost_factor, b) + resumes_at(r, cost_factor, b));
}

static void add_self(struct estimate *e, const struct rec_budget *r,
	const struct estimate_call *call, const struct blind *b, double relative_spread)
{
	static const double factors[] = { COST_LEAST, COST_LIKELY, COST_MOST };
	double low = INFINITY, high = 0;

	e->self_s = self_at(r, COST_LIKELY, call->inside_ns, 0, b);
	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
		low = fmin(low, self_at(r, factors[i], call->inside_ns, COST_DIFFERS, b));
		high = fmax(high, self_at(r, factors[i], call->inside_ns, -COST_DIFFERS, b));
	}
	e->self_low_s = low * fmax(1 - relative_spread, 0);
	if (!is_rare(r))
		e->self_high_s = high * (1 + relative_spread);
}

/* Windows say nothing: it may have stopped the moment after it was switched off, or gone on. */
static struct estimate unseen(const struct rec_budget *r, const struct estimate_call *call)
{
	double blind = r->tells_blind ? (double)r->blind_ns : (double)r->off_ns;
	struct estimate e = { .calls = (double)r->counted + r->off_rate * blind,
		.resumes = (double)r->counted_resumes,
		.calls_low = (double)r->counted,
		.calls_high = UNITS_UNKNOWN,
		.self_high_s = UNITS_UNKNOWN };

	e.self_s = (e.calls + e.resumes) * call->own_ns / 1e9;
	return e;
}

struct estimate estimate_of(const struct rec_budget *r, const struct estimate_call *call)
{
	double net = net_of(r, COST_LIKELY), spread, n_seen = (double)r->calls + (double)r->resumes;
	bool is_counted = r->tells_blind && !r->blind_ns;
	struct estimate e = unseen(r, call);
	struct blind b;

	if (r->n_windows >= 2 && net > 0) {
		b = blind_build(r);
		e.calls = calls_at(r, COST_LIKELY, &b);
		e.resumes = resumes_at(r, COST_LIKELY, &b);
		/* None seen is not none there: a spell as long as between two windows may have been missed. */
		spread = fmax(spread_of(r) * net_of(r, 1) / net, 3 / net) * b.off + b.gap_half;
		e.calls_low = fmax(calls_at(r, COST_LEAST, &b) - spread, (double)r->counted);
		if (!is_rare(r))
			e.calls_high = calls_at(r, COST_MOST, &b) + spread;
		if (n_seen > 0)
			add_self(&e, r, call, &b,
				(e.calls > 0 ? spread / e.calls : 1) + 1 / sqrt(n_seen));
	}
	if (is_counted) {
		e.is_counted = true;
		e.calls = e.calls_low = e.calls_high = (double)r->counted;
		e.resumes = (double)r->counted_resumes;
	}
	return e;
}
