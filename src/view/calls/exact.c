/* SPDX-License-Identifier: MIT
 * See exact.h: functions; exact_lines.c has lines. */
#include "view/calls/exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/profile.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

/* times what events cost, from which on looks at the pace are told of */
static const double LOOKS_TOLD = 2;
static const double SLOWER_TOLD = 1.15; /* what is less is within what corrected times are off by */

enum {
	NARROW = 90
}; /* below it the longest call, suspended time and times of one call give way to names */

/* ---- the table ------------------------------------------------------------------------------- */

struct page {
	const struct exact *x;
	const struct profile *p;
	const struct profile_view *v;
	bool is_raw, has_resumes, has_awaited, has_max, has_intervals, has_bounds, has_mixed;
	bool has_per_call;
};

/* Estimates have marks of their own. */
static bool is_bound(const struct page *g, const struct exact_function *f, struct interval of)
{
	return !g->is_raw && !f->range.is_estimated && !f->is_mixed && exact_is_bound(of);
}

static struct page page_of(
	const struct exact *x, const struct profile *p, bool is_raw, const struct profile_view *v)
{
	struct page g = { .x = x,
		.p = p,
		.v = v,
		.is_raw = is_raw,
		.has_intervals = x->is_calibrated && x->is_timed && !is_raw,
		.has_max = x->has_contexts && x->is_timed && v->width >= NARROW };

	for (size_t i = 0; i < profile_rows(v, p->n_functions); i++) {
		const struct exact_function *f = &x->functions[p->functions[i].exact];

		g.has_resumes |= f->cost.resumes > 0;
		g.has_bounds |= g.has_intervals &&
			(is_bound(&g, f, exact_self(f)) || is_bound(&g, f, exact_total(f)));
		g.has_mixed |= f->is_mixed;
	}
	g.has_per_call = x->is_timed && (!g.has_intervals || v->width >= NARROW);
	g.has_awaited = g.has_resumes && x->is_timed && v->width >= NARROW;
	return g;
}

static struct table *new_table(const struct page *g)
{
	static const char *const familiar[] = { "tottime", "cumtime" },
				 *const others[] = { "self", "total" };
	struct table_column columns[16];
	size_t n = 0;

	columns[n++] = (struct table_column){ "ncalls", TABLE_RIGHT, TEXT_CUT_END, 0 };
	for (size_t i = 0; g->x->is_timed && i < sizeof familiar / sizeof *familiar; i++) {
		columns[n++] =
			(struct table_column){ g->x->unit == UNIT_SECONDS ? familiar[i] : others[i],
				TABLE_RIGHT, TEXT_CUT_END, 0, i ? 5 : 0 };
		if (g->has_intervals)
			columns[n++] =
				(struct table_column){ "±", TABLE_RIGHT, TEXT_CUT_END, 0, 4 };
		if (g->has_per_call)
			columns[n++] =
				(struct table_column){ "percall", TABLE_RIGHT, TEXT_CUT_END, 0, 3 };
	}
	if (g->has_max)
		columns[n++] = (struct table_column){ "max", TABLE_RIGHT, TEXT_CUT_END, 0, 1 };
	if (g->has_resumes)
		columns[n++] = (struct table_column){ "resumes", TABLE_RIGHT, TEXT_CUT_END, 0, 2 };
	if (g->has_awaited)
		columns[n++] = (struct table_column){ "awaited", TABLE_RIGHT, TEXT_CUT_END, 0, 2 };
	if (g->x->n_calls_estimated)
		columns[n++] =
			(struct table_column){ "ncalls between", TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (g->has_mixed || g->x->n_estimated)
		columns[n++] = (struct table_column){ "", TABLE_LEFT, TEXT_CUT_END, 0, 1 };
	columns[n++] = (struct table_column){ "filename:lineno(function)", TABLE_LEFT,
		TEXT_CUT_MIDDLE, 18 };
	return table_new(columns, n);
}

/* Corrected, or as stamped where that is asked for or too little is known of the other. */
struct shown {
	double corrected, raw;
	struct interval of;
	uint64_t calls;
};

static void add_time(struct table *t, const struct page *g, const struct exact_function *f,
	const struct shown *s)
{
	char text[UNITS_TEXT];
	bool bound = is_bound(g, f, s->of);
	double value = g->is_raw || bound ? s->raw : s->corrected;

	if (g->x->unit == UNIT_SECONDS)
		table_cell(t, "%.3f", value);
	else
		table_cell_unit(t, g->x->unit, value);
	if (g->has_intervals)
		profile_cell_interval(t, s->of, bound);
	if (g->has_per_call)
		table_cell(t, "%s",
			s->calls ? units_format(text, g->x->unit, value / (double)s->calls) : "");
}

/* Empty where there is nothing to tell. fmt takes the number. */
static void add_if_resumed(
	struct table *t, const struct exact_cost *c, const char *fmt, double number)
{
	if (c->resumes)
		table_cell(t, fmt, number);
	else
		table_cell(t, "%s", "");
}

static void add_range(struct table *t, const struct exact_range *r)
{
	char low[UNITS_TEXT], high[UNITS_TEXT];

	if (!r->are_calls_estimated)
		table_cell(t, "%s", "");
	else
		table_cell(t, "%s – %s", units_format(low, UNIT_COUNT, r->calls_low),
			units_is_known(r->calls_high)
				? units_format(high, UNIT_COUNT, r->calls_high)
				: "?");
}

static void add_row(struct table *t, const struct page *g, const struct exact_function *f)
{
	const struct exact_cost *c = &f->cost;

	if (c->calls == c->primitive_calls || f->range.is_estimated)
		table_cell(t, "%s%" PRIu64, f->range.are_calls_estimated ? "~" : "", c->calls);
	else
		table_cell(t, "%" PRIu64 "/%" PRIu64, c->calls, c->primitive_calls);
	if (g->x->is_timed) {
		add_time(t, g, f,
			&(struct shown){ c->self, c->raw.self_s, exact_self(f), c->calls });
		add_time(t, g, f,
			&(struct shown){
				c->total, c->raw.total_s, exact_total(f), c->primitive_calls });
	}
	if (g->has_max)
		table_cell_unit(t, UNIT_SECONDS, f->max_s);
	if (g->has_resumes)
		add_if_resumed(t, c, "%.0f", (double)c->resumes);
	if (g->has_awaited)
		add_if_resumed(t, c, "%.3f", f->awaited_s);
	if (g->x->n_calls_estimated)
		add_range(t, &f->range);
	if (g->has_mixed || g->x->n_estimated)
		table_cell(t, "%s",
			f->range.is_estimated               ? "~"
				: f->is_mixed && !g->is_raw ? "−"
							    : "");
	if (f->is_builtin || !*f->file)
		table_cell(t, "%s", f->name);
	else
		table_cell(t, "%s:%u(%s)", profile_path(g->v, f->file), f->first_line, f->name);
}

static void print_seconds(const struct page *g, struct buf *out)
{
	const struct exact *x = g->x;
	struct interval of = x->self_interval;
	bool bound = !g->is_raw && exact_is_bound(of);

	buf_printf(out, " in %.3f seconds", g->is_raw || bound ? x->raw_self : x->self);
	if (g->is_raw || !units_is_known(of.low))
		return;
	buf_printf(out, bound ? " as stamped, %.3f–%.3f without tracing" : " (%.3f–%.3f)", of.low,
		of.high);
}

static void print_sum(const struct page *g, struct buf *out)
{
	const struct exact *x = g->x;
	char value[UNITS_TEXT];

	buf_addc(out, '\n');
	style_begin(out, STYLE_BOLD, g->v->colour);
	buf_printf(out, "%" PRIu64 " function calls", x->calls);
	if (x->calls != x->primitive_calls)
		buf_printf(out, " (%" PRIu64 " primitive calls)", x->primitive_calls);
	if (x->is_timed && x->unit == UNIT_SECONDS)
		print_seconds(g, out);
	else if (x->is_timed)
		buf_printf(out, ", %s%s", units_format(value, x->unit, x->self),
			x->unit == UNIT_COUNT ? " events" : "");
	style_end(out, STYLE_BOLD, g->v->colour);
	if (x->resumes)
		buf_printf(out, ", and %" PRIu64 " resumption%s of generators and coroutines",
			x->resumes, x->resumes == 1 ? "" : "s");
	if (x->n_left_out)
		buf_printf(out, "; %" PRIu64 " of library code left out", x->n_left_out);
	buf_addc(out, '\n');
}

static void print_intervals(const struct page *g, struct buf *out)
{
	style_begin(out, STYLE_DIM, g->v->colour);
	style_wrap(out,
		"±: how far a time may be from that of an untraced run, in nine of ten cases", 0,
		g->v->width);
	if (g->has_bounds)
		style_wrap(out,
			"1–2 s: lower and upper bound, where tracing took too much of the time to "
			"say more; for these rows, trust a sampled run. The time before the bounds "
			"is as stamped, tracing included; such rows are ranked by their corrected time",
			0, g->v->width);
	style_end(out, STYLE_DIM, g->v->colour);
}

void exact_print_functions(const struct exact *x, const struct profile *p, const char *order,
	bool is_raw, const struct profile_view *v, struct buf *out)
{
	struct page g = page_of(x, p, is_raw, v);
	size_t n = profile_rows(v, p->n_functions);
	struct table *t = new_table(&g);

	print_sum(&g, out);
	style_add(out, STYLE_DIM, v->colour, "Ordered by: %s%s%s%s\n", order, *v->what ? " (" : "",
		v->what, *v->what ? ")" : "");
	buf_addc(out, '\n');
	for (size_t i = 0; i < n; i++)
		add_row(t, &g, &x->functions[p->functions[i].exact]);
	if (n)
		table_emit(t, out, v->width, v->colour);
	else
		buf_adds(out, "no function matches\n");
	profile_more(v, n, p->n_functions, out);
	if (g.has_intervals && v->legend)
		print_intervals(&g, out);
	if (x->n_estimated && v->legend) {
		style_begin(out, STYLE_DIM, v->colour);
		style_wrap(out,
			"~: called too often for the budget, so its times (and its calls, where "
			"marked ~) are estimated from moments in which it was watched; −: its self "
			"time is what such functions leave of it; everything else is exact",
			0, v->width);
		style_end(out, STYLE_DIM, v->colour);
	}
	table_free(t);
}

static void print_budget(const struct exact *x, const struct profile_view *v, struct buf *out)
{
	style_add(out, STYLE_DIM, v->colour,
		"Within the budget, of %zu functions the calls of %zu and the times of %zu are estimated; the others are exact.\n",
		x->n_functions, x->n_calls_estimated, x->n_estimated);
}

void exact_print_fidelity(const struct exact *x, const struct profile_view *v, struct buf *out)
{
	char events[UNITS_TEXT], cost[UNITS_TEXT], each[UNITS_TEXT], share[UNITS_TEXT], text[600];

	units_format(events, UNIT_COUNT, (double)x->n_events);
	if (!x->is_timed)
		snprintf(text, sizeof text,
			"Counted: %s calls and resumptions, without a clock; --trace times them.",
			events);
	else if (!x->is_calibrated)
		snprintf(text, sizeof text,
			"Traced: %s calls and resumptions; the cost of tracing was not calibrated, so the times include it.",
			events);
	else if (x->nodes->cost_error > NODES_ERROR_MOST)
		snprintf(text, sizeof text,
			"Traced: %s calls and resumptions; the cost of tracing could only be "
			"measured to within %s because other programs had the CPU, so the times include it.",
			events, units_format(share, UNIT_SHARE, x->nodes->cost_error));
	else
		snprintf(text, sizeof text,
			"Traced: %s calls and resumptions; they cost %s (%s each, calibrated%s), "
			"%s of the traced time; the times above exclude it, --raw includes it.",
			events, units_format(cost, UNIT_SECONDS, x->cost_s),
			units_format(each, UNIT_SECONDS, x->event_s),
			x->cost_s > LOOKS_TOLD * x->event_s * (double)x->n_events
				? "; most of it to measure the CPU's speed"
				: "",
			units_format(
				share, UNIT_SHARE, x->raw_self > 0 ? x->cost_s / x->raw_self : 0));
	if (x->n_missing) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof text - n,
			" Incomplete: %" PRIu64
			" more were counted in the program but are not in this recording.",
			x->n_missing);
	}
	if (x->is_timed && x->nodes->code_slower > SLOWER_TOLD) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof text - n,
			" Tracing slows this interpreter up to %.1f× between calls; the bounds allow for that.",
			x->nodes->code_slower);
	}
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, text, 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
	if (x->n_estimated)
		print_budget(x, v, out);
	if (v->legend && x->is_timed)
		style_add(out, STYLE_DIM, v->colour,
			"Use these times to rank; quote speed from an untraced run (leadline time).\n");
}

void exact_print_excluded(const char *patterns, const struct profile_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;

	if (!*patterns)
		return;
	buf_adds(&text, "Not traced (--exclude): ");
	text_add_printable(&text, patterns, strlen(patterns));
	buf_adds(&text, "; its time counts as self time of its callers.");
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, buf_str(&text), 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
	buf_done(&text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
