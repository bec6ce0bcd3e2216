/* SPDX-License-Identifier: MIT
 * See exact.h: functions; exact_lines.c has lines. */
#include "view/exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/exact.h"
#include "analyze/profile.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/profile.h"
#include "view/profile_parts.h"
#include "view/style.h"
#include "base/banned.h"

static const double SLOWER_TOLD = 1.15; /* what is less is within what corrected times are off by */

enum { NARROW = 90 }; /* below it the longest call and suspended time give way to names */

/* ---- the table ------------------------------------------------------------------------------- */

struct page {
	const struct exact *x;
	const struct profile *p;
	const struct profile_view *v;
	bool is_raw, has_resumes, has_awaited, has_max, has_doubtful, has_mixed;
};

static struct page page_of(
	const struct exact *x, const struct profile *p, bool is_raw, const struct profile_view *v)
{
	struct page g = { .x = x,
		.p = p,
		.v = v,
		.is_raw = is_raw,
		.has_max = x->has_contexts && x->is_timed && v->width >= NARROW };

	for (size_t i = 0; i < profile_rows(v, p->n_functions); i++) {
		const struct exact_function *f = &x->functions[p->functions[i].exact];

		g.has_resumes |= f->cost.resumes > 0;
		g.has_doubtful |= f->is_doubtful && !is_raw && !f->is_mixed &&
			!f->range.is_estimated; /* which have a mark of their own */
		g.has_mixed |= f->is_mixed;
	}
	g.has_awaited = g.has_resumes && x->is_timed && v->width >= NARROW;
	return g;
}

static struct table *new_table(const struct page *g)
{
	static const char *const familiar[] = { "ncalls", "tottime", "percall", "cumtime",
		"percall" },
				 *const others[] = { "ncalls", "self", "percall", "total",
					 "percall" };
	struct table_column columns[14];
	size_t n = 0;

	for (size_t i = 0; i < (g->x->is_timed ? sizeof familiar / sizeof *familiar : 1); i++)
		columns[n++] =
			(struct table_column){ g->x->unit == UNIT_SECONDS ? familiar[i] : others[i],
				TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (g->has_max)
		columns[n++] = (struct table_column){ "max", TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (g->has_resumes)
		columns[n++] = (struct table_column){ "resumes", TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (g->has_awaited)
		columns[n++] = (struct table_column){ "awaited", TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (g->x->n_estimated)
		columns[n++] =
			(struct table_column){ "95 % of ncalls", TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (g->has_doubtful || g->has_mixed || g->x->n_estimated)
		columns[n++] = (struct table_column){ "", TABLE_LEFT, TEXT_CUT_END, 0 };
	columns[n++] = (struct table_column){ "filename:lineno(function)", TABLE_LEFT,
		TEXT_CUT_MIDDLE, 18 };
	return table_new(columns, n);
}

static void add_time(struct table *t, enum unit unit, double value, uint64_t calls)
{
	char text[UNITS_TEXT];

	if (unit == UNIT_SECONDS)
		table_cell(t, "%.3f", value);
	else
		table_cell_unit(t, unit, value);
	table_cell(t, "%s", calls ? units_format(text, unit, value / (double)calls) : "");
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

	if (!r->is_estimated)
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
	double self_s = g->is_raw ? c->raw.self_s : c->self,
	       total_s = g->is_raw ? c->raw.total_s : c->total;

	if (c->calls == c->primitive_calls || f->range.is_estimated)
		table_cell(t, "%s%" PRIu64, f->range.is_estimated ? "~" : "", c->calls);
	else
		table_cell(t, "%" PRIu64 "/%" PRIu64, c->calls, c->primitive_calls);
	if (g->x->is_timed) {
		add_time(t, g->x->unit, self_s, c->calls);
		add_time(t, g->x->unit, total_s, c->primitive_calls);
	}
	if (g->has_max)
		table_cell_unit(t, UNIT_SECONDS, f->max_s);
	if (g->has_resumes)
		add_if_resumed(t, c, "%.0f", (double)c->resumes);
	if (g->has_awaited)
		add_if_resumed(t, c, "%.3f", f->awaited_s);
	if (g->x->n_estimated)
		add_range(t, &f->range);
	if (g->has_doubtful || g->has_mixed || g->x->n_estimated)
		table_cell(t, "%s",
			f->range.is_estimated                  ? "~"
				: f->is_mixed && !g->is_raw    ? "−"
				: f->is_doubtful && !g->is_raw ? "≈"
							       : "");
	if (f->is_builtin || !*f->file)
		table_cell(t, "%s", f->name);
	else
		table_cell(t, "%s:%u(%s)", profile_path(g->v, f->file), f->first_line, f->name);
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
		buf_printf(out, " in %.3f seconds", g->is_raw ? x->raw_self : x->self);
	else if (x->is_timed)
		buf_printf(out, ", %s%s", units_format(value, x->unit, x->self),
			x->unit == UNIT_COUNT ? " events" : "");
	style_end(out, STYLE_BOLD, g->v->colour);
	if (x->resumes)
		buf_printf(out, ", and %" PRIu64 " resumptions of generators and coroutines",
			x->resumes);
	buf_addc(out, '\n');
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
	if (g.has_doubtful && v->legend) {
		style_begin(out, STYLE_DIM, v->colour);
		style_wrap(out,
			"≈ more than half of its own time was the cost of tracing, which is taken "
			"off: ask the sampler about such rows",
			0, v->width);
		style_end(out, STYLE_DIM, v->colour);
	}
	if (x->n_estimated && v->legend) {
		style_begin(out, STYLE_DIM, v->colour);
		style_wrap(out,
			"~ called too often for the budget: estimated from moments in which it was "
			"watched; − its own time is what such functions left of it; all others are "
			"exact",
			0, v->width);
		style_end(out, STYLE_DIM, v->colour);
	}
	table_free(t);
}

static void print_budget(const struct exact *x, const struct profile_view *v, struct buf *out)
{
	style_add(out, STYLE_DIM, v->colour,
		"Within a budget: %zu of %zu functions are estimated, the others exact.\n",
		x->n_estimated, x->n_functions);
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
			"Traced: %s calls and resumptions; what that cost was not calibrated, so "
			"it is in the times.",
			events);
	else if (x->nodes->cost_error > NODES_ERROR_MOST)
		snprintf(text, sizeof text,
			"Traced: %s calls and resumptions; what one costs could not be measured "
			"(to %s only: other programs had the CPU), so it is in the times.",
			events, units_format(share, UNIT_SHARE, x->nodes->cost_error));
	else
		snprintf(text, sizeof text,
			"Traced: %s calls and resumptions; they cost %s (%s each, calibrated), %s "
			"of the traced time, which is taken off the times above; --raw leaves it "
			"in.",
			events, units_format(cost, UNIT_SECONDS, x->cost_s),
			units_format(each, UNIT_SECONDS,
				x->n_events ? x->cost_s / (double)x->n_events : 0),
			units_format(
				share, UNIT_SHARE, x->raw_self > 0 ? x->cost_s / x->raw_self : 0));
	if (x->is_timed && x->nodes->code_slower > SLOWER_TOLD) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof text - n,
			" Python code between calls takes up to %.1f times as long while this "
			"interpreter traces: that is in the times.",
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
			"Rank with this; quote speed from a run without tracing (leadline "
			"time).\n");
}

void exact_print_excluded(const char *patterns, const struct profile_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;

	if (!*patterns)
		return;
	buf_adds(&text, "Not traced, as asked for (--exclude): ");
	text_add_printable(&text, patterns, strlen(patterns));
	buf_adds(&text, "; what that took is its callers' own time.");
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, buf_str(&text), 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
	buf_done(&text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
