/* SPDX-License-Identifier: MIT
 * See memory.h. */
#include "view/memory/memory.h"

#include <stdio.h>
#include <string.h>

#include "analyze/host/usage.h"
#include "analyze/memory/memory.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "base/banned.h"

enum { ESTIMATE_TEXT = 3 * UNITS_TEXT, LABEL = 11 };

/* "1.02 GiB ± 3.1 %"; where that is not worth saying, "1.02 MiB (312 KiB to 3.9 MiB)". */
static const char *estimate(char to[ESTIMATE_TEXT], double value, struct interval i)
{
	char about[UNITS_TEXT], low[UNITS_TEXT], high[UNITS_TEXT], share[UNITS_TEXT];
	double half = (i.high - i.low) / 2;

	units_format(about, UNIT_BYTES, value);
	if (!(value > 0) || half < value * 5e-4)
		snprintf(to, ESTIMATE_TEXT, "%s", about);
	else if (half <= value / 4)
		snprintf(to, ESTIMATE_TEXT, "%s ± %s", about,
			units_format(share, UNIT_SHARE, half / value));
	else
		snprintf(to, ESTIMATE_TEXT, "%s (%s to %s)", about,
			units_format(low, UNIT_BYTES, i.low),
			units_format(high, UNIT_BYTES, i.high));
	return to;
}

static const char *estimate_sum(char to[ESTIMATE_TEXT], const struct sampled_sum *s)
{
	return estimate(to, s->value, sampled_sum_interval(s));
}

/* Much was allocated, and none of it met a sample: no figure is known, and none is 0. */
static bool is_unseen(const struct memory *m)
{
	return m->all.counted_bytes > 0 && !(m->all.allocated.value > 0);
}

/* Lost samples make a figure too small, lost releases what is allocated at a moment too large. */
static const char *bounded(const struct memory *m, bool is_of_a_moment)
{
	bool is_at_most = m->is_at_most && is_of_a_moment;

	return m->is_at_least && is_at_most ? "about "
		: m->is_at_least            ? "at least "
		: is_at_most                ? "at most "
					    : "";
}

static void begin_row(const char *label, struct buf *out)
{
	buf_printf(out, "%-*s", LABEL, label);
}

static void print_allocated(const struct memory *m, struct buf *out)
{
	const struct memory_sums *s = &m->all;
	char text[ESTIMATE_TEXT], bytes[UNITS_TEXT], n[UNITS_TEXT];

	begin_row("allocated", out);
	if (is_unseen(m))
		buf_adds(out, "not sampled");
	else
		buf_printf(
			out, "%s%s in all", bounded(m, false), estimate_sum(text, &s->allocated));
	if (units_is_known(s->counted_bytes))
		buf_printf(out, "; counted: %s", units_format(bytes, UNIT_BYTES, s->counted_bytes));
	if (units_is_known(s->counted_bytes) && units_is_known(s->counted_n))
		buf_printf(out, " in %s allocations", units_format(n, UNIT_COUNT, s->counted_n));
	buf_addc(out, '\n');
}

static void print_resident(const struct usage *u, size_t n_processes, struct buf *out)
{
	char rss[UNITS_TEXT], tree[UNITS_TEXT];

	if (!units_is_known(u->max_rss_bytes) || u->is_foreign)
		return;
	begin_row("resident", out);
	buf_printf(out, "%s at most", units_format(rss, UNIT_BYTES, u->max_rss_bytes));
	if (n_processes > 1 && units_is_known(u->peak_tree_rss_bytes))
		buf_printf(out, " in one process, %s in all together",
			units_format(tree, UNIT_BYTES, u->peak_tree_rss_bytes));
	buf_adds(out, " (RSS)\n");
}

static void print_curve(const struct memory *m, const struct memory_page *v, struct buf *out)
{
	double values[MEMORY_POINTS], most = 0;
	size_t width = v->width > LABEL + 20 ? v->width - LABEL - 10 : 20;
	char end[UNITS_TEXT];

	for (size_t i = 0; i < m->n_points; i++) {
		values[i] = m->curve[i].bytes;
		most = values[i] > most ? values[i] : most;
	}
	if (!(most > 0))
		return;
	begin_row("over time", out);
	style_sparkline(out, values, m->n_points, most, width < 60 ? width : 60);
	buf_printf(out, " %s\n", units_format(end, UNIT_SECONDS, m->end_s));
}

static double rss_of(const struct usage *u, uint32_t pid)
{
	for (size_t i = 0; i < u->n_processes; i++)
		if (u->processes[i].pid == pid)
			return u->processes[i].max_rss_bytes;
	return UNITS_UNKNOWN;
}

/* Each with its own peak, whose moments differ. */
static void print_processes(
	const struct memory *m, const struct usage *u, const struct memory_page *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = "process", .align = TABLE_RIGHT },
		{ .title = "peak", .align = TABLE_RIGHT },
		{ .title = "at", .align = TABLE_RIGHT, .gives_way = 3 },
		{ .title = "at the end", .align = TABLE_RIGHT },
		{ .title = "allocated", .align = TABLE_RIGHT, .gives_way = 2 },
		{ .title = "RSS", .align = TABLE_RIGHT, .gives_way = 1 },
		{ .title = "command", .cut = TEXT_CUT_END, .min_width = 12 },
	};
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);
	size_t n = m->blocks->n_processes, most = v->limit && n > v->limit ? v->limit : n;

	for (size_t i = 0; i < most; i++) {
		const struct memory_process *p = &m->blocks->processes[i];
		const struct memory_sums *s = &m->processes[i];

		table_cell(t, "%u", p->pid);
		table_cell_unit(t, UNIT_BYTES, s->peak.value);
		table_cell_unit(t, UNIT_SECONDS, s->peak_s);
		table_cell_unit(t, UNIT_BYTES, s->live.value);
		table_cell_unit(t, UNIT_BYTES, s->allocated.value);
		table_cell_unit(t, UNIT_BYTES, rss_of(u, p->pid));
		table_cell(t, "%s", p->command);
	}
	buf_addc(out, '\n');
	style_add(out, STYLE_BOLD, v->colour, "Processes");
	buf_addc(out, '\n');
	table_emit(t, out, v->width, v->colour);
	if (most < n)
		style_add(out, STYLE_DIM, v->colour, "… and %zu more\n", n - most);
	table_free(t);
}

/* What was alive at the peak and at the end. */
static void print_moments(const struct memory *m, size_t n_processes, struct buf *out)
{
	char text[ESTIMATE_TEXT], moment[UNITS_TEXT];

	begin_row("peak", out);
	buf_printf(out, "%s%s allocated at %s", bounded(m, true), estimate_sum(text, &m->all.peak),
		units_format(moment, UNIT_SECONDS, m->all.peak_s));
	if (n_processes > 1)
		buf_printf(out, " in %zu processes together", n_processes);
	buf_addc(out, '\n');
	begin_row("at the end", out);
	buf_printf(out, "%s%s not released\n", bounded(m, true), estimate_sum(text, &m->all.live));
}

void memory_print_head(
	const struct memory *m, const struct usage *u, const struct memory_page *v, struct buf *out)
{
	struct buf command = BUF_INIT;
	size_t n = m->blocks->n_processes;

	text_add_printable(&command, u->command, strlen(u->command));
	buf_printf(out, "%s\n\n", buf_str(&command));
	buf_done(&command);
	if (is_unseen(m)) {
		begin_row("peak", out);
		buf_adds(out,
			"not known: no allocation was sampled; record with a smaller period\n");
	} else {
		print_moments(m, n, out);
	}
	print_allocated(m, out);
	print_resident(u, u->n_processes, out);
	print_curve(m, v, out);
	if (n > 1)
		print_processes(m, u, v, out);
}

void memory_print_part(const struct memory_part *p, const struct memory_page *v, struct buf *out)
{
	static const char *const what[] = { [MEMORY_PEAK] = "were allocated at the peak",
		[MEMORY_GROWTH] = "more than before, in places that grew",
		[MEMORY_LEAKS] = "were not released",
		[MEMORY_CHURN] = "were allocated in all" };
	char text[ESTIMATE_TEXT], from[UNITS_TEXT], to[UNITS_TEXT], back[UNITS_TEXT];
	struct buf line = BUF_INIT;

	units_format(from, UNIT_SECONDS, p->from_s);
	units_format(to, UNIT_SECONDS, p->to_s);
	if (p->n)
		buf_printf(
			&line, "%s %s", estimate(text, p->sum.value, p->interval), what[p->view]);
	if (!p->n) /* small ones may have been there */
		buf_adds(&line, "No allocation was sampled.");
	else if (p->view == MEMORY_PEAK)
		buf_printf(&line, ", at %s.", to);
	else if (p->from_s > 0)
		buf_printf(&line, ", from %s to %s.", from, to);
	else
		buf_printf(&line, ", up to %s.", to);
	if (p->view == MEMORY_GROWTH && p->given_back > 0)
		buf_printf(&line, " Other places gave back %s.",
			units_format(back, UNIT_BYTES, p->given_back));
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, buf_str(&line), 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
	buf_done(&line);
}

static void add_losses(const struct memory *m, struct buf *to)
{
	char n[UNITS_TEXT];

	if (m->is_at_least)
		buf_printf(to,
			" Incomplete: %s samples were lost, so there was at least this much.",
			units_format(n, UNIT_COUNT, (double)m->all.n_dropped));
	if (m->is_at_most)
		buf_printf(to,
			" %s releases were lost: some of what counts as allocated was released.",
			units_format(n, UNIT_COUNT, (double)m->all.n_frees_dropped));
}

void memory_print_legend(const struct memory *m, const struct memory_page *v, struct buf *out)
{
	char n[UNITS_TEXT], period[UNITS_TEXT];
	struct buf text = BUF_INIT;

	buf_printf(&text, "Estimated from %s sampled allocations",
		units_format(n, UNIT_COUNT, (double)m->all.allocated.n));
	if (m->period_bytes > 0)
		buf_printf(&text, ", one per %s on average",
			units_format(period, UNIT_BYTES, m->period_bytes));
	buf_adds(&text, ".");
	add_losses(m, &text);
	if (v->legend)
		buf_adds(&text,
			" self: what the function's own code allocated; total: including what it "
			"calls; ±: 95 % confidence; blocks: how many allocations, estimated.");
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, buf_str(&text), 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
	buf_done(&text);
}
