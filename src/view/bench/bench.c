/* SPDX-License-Identifier: MIT
 * See bench.h. */
#include "view/bench/bench.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "base/banned.h"

enum { HISTOGRAM_WIDTH = 40 };

static const struct {
	const char *name;
	double seconds;
} timeit_units[] = { { "nsec", 1e-9 }, { "usec", 1e-6 }, { "msec", 1e-3 }, { "sec", 1 } };

/* As timeit formats a time: the largest unit that leaves at least 1, %.3g. */
static void add_timeit_time(const struct bench_view *v, double seconds, struct buf *out)
{
	size_t i = 0;

	if (v->unit != BENCH_UNIT_AUTO)
		i = (size_t)v->unit - BENCH_UNIT_NSEC;
	else
		for (i = 3; i > 0 && seconds < timeit_units[i].seconds; i--)
			;
	buf_printf(out, "%.*g %s", v->precision, seconds / timeit_units[i].seconds,
		timeit_units[i].name);
}

void bench_print_timeit(const struct bench_view *v, size_t i, struct buf *out)
{
	const struct series_summary *s = &v->sums[i];

	if (v->raw) {
		buf_adds(out, "raw times: ");
		for (size_t k = 0; k < s->d.n; k++) {
			if (k)
				buf_adds(out, ", ");
			add_timeit_time(v, s->values[k] * (double)s->loops, out);
		}
		buf_adds(out, "\n\n");
	}
	buf_printf(out, "%llu loop%s, best of %zu: ", (unsigned long long)s->loops,
		s->loops == 1 ? "" : "s", s->d.n);
	add_timeit_time(v, s->d.least, out);
	buf_adds(out, " per loop\n");
	if (v->timeit && s->d.most >= 4 * s->d.least) {
		buf_adds(out,
			":0: UserWarning: The test results are likely unreliable. The worst time (");
		add_timeit_time(v, s->d.most, out);
		buf_adds(out, ") was more than four times slower than the best time (");
		add_timeit_time(v, s->d.least, out);
		buf_adds(out, ").\n");
	}
}

static const char *seconds(char room[UNITS_TEXT], double s)
{
	return units_format(room, UNIT_SECONDS, s);
}

/* Where the values lie: a block per column, the last one for all that lie farther out. */
static void add_histogram(const struct series_summary *s, struct buf *out)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t count[HISTOGRAM_WIDTH] = { 0 }, most = 1;
	double end = fmin(s->d.most, s->d.q3 + 4 * (s->d.q3 - s->d.q1));
	double step = (end - s->d.least) / (HISTOGRAM_WIDTH - (end < s->d.most ? 1 : 0));
	char low[UNITS_TEXT], high[UNITS_TEXT];

	if (s->d.n < 5 || !(step > 0))
		return;
	for (size_t i = 0; i < s->d.n; i++) {
		size_t at = (size_t)((s->values[i] - s->d.least) / step);

		count[at < HISTOGRAM_WIDTH ? at : HISTOGRAM_WIDTH - 1]++;
	}
	for (size_t i = 0; i < HISTOGRAM_WIDTH; i++)
		most = count[i] > most ? count[i] : most;
	buf_adds(out, "  ");
	for (size_t i = 0; i < HISTOGRAM_WIDTH; i++)
		buf_adds(out, blocks[count[i] ? 1 + 7 * count[i] / most : 0]);
	buf_printf(out, "  %s … %s%s\n", seconds(low, s->d.least), seconds(high, s->d.most),
		end < s->d.most ? " (last column: everything above)" : "");
}

static void add_times(
	const struct series *s, const struct series_summary *sum, bool colour, struct buf *out)
{
	char t[4][UNITS_TEXT];

	buf_adds(out, "  best ");
	style_add(out, STYLE_BOLD, colour, "%s", seconds(t[0], sum->d.least));
	buf_adds(out, "   median ");
	style_add(out, STYLE_BOLD, colour, "%s", seconds(t[1], sum->d.median));
	buf_adds(out, "   mean ");
	style_add(out, STYLE_BOLD, colour, "%s", seconds(t[2], sum->d.mean));
	if (isfinite(sum->mean.low))
		buf_printf(out, " ± %s (95 %%, over %zu %s)",
			seconds(t[3], (sum->mean.high - sum->mean.low) / 2),
			sum->mean_is_of_processes ? sum->n_processes : sum->d.n,
			sum->mean_is_of_processes && !s->is_command ? "processes"
				: s->is_command                     ? "runs"
								    : "values of one process");
	buf_addc(out, '\n');
}

static void add_spread(const struct series_summary *s, struct buf *out)
{
	const struct series_outliers *o = &s->outliers;
	char low[UNITS_TEXT], high[UNITS_TEXT];

	if (s->d.n < 5)
		return;
	buf_printf(out, "  half of the values lie between %s and %s", seconds(low, s->d.q1),
		seconds(high, s->d.q3));
	if (o->n) {
		buf_printf(out, "; %zu of %zu far above", o->n, s->d.n);
		if (o->n_preempted)
			buf_printf(out, ", %zu of them while another program had the CPU",
				o->n_preempted);
		if (o->n_faults)
			buf_printf(out, ", %zu while a page was read from disk", o->n_faults);
	}
	buf_addc(out, '\n');
}

static void add_procedure(const struct bench_view *v, size_t i, struct buf *out)
{
	const struct series *s = &v->series[i];
	const struct series_summary *sum = &v->sums[i];
	char t[UNITS_TEXT], u[UNITS_TEXT];

	if (s->is_command) {
		buf_printf(out, "  user %s, system %s", seconds(t, sum->user_s),
			seconds(u, sum->system_s));
	} else {
		buf_printf(out, "  %zu process%s × %zu batches × %llu loop%s", s->n,
			s->n == 1 ? "" : "es", s->processes[0].n, (unsigned long long)sum->loops,
			sum->loops == 1 ? "" : "s");
		if (sum->n_warmup)
			buf_printf(out, ", %zu warm-up batches left out", sum->n_warmup);
		if (!v->is_stored)
			buf_printf(
				out, "; garbage collection %s", v->gc ? "on" : "off, as in timeit");
	}
	if (sum->max_rss_bytes)
		buf_printf(out, "; peak memory %s",
			units_format(t, UNIT_BYTES, (double)sum->max_rss_bytes));
	buf_addc(out, '\n');
	if (sum->n_unsteady)
		buf_printf(out,
			"  no steady state in %zu of %zu processes: times were still changing at the end; see them with -v or --json\n",
			sum->n_unsteady, s->n);
	if (!s->is_command && sum->first_s > 10 * sum->d.median && sum->first_s > 1e-3)
		buf_printf(out,
			"  the first call took %s, %.0f times the median, and is not in these figures\n",
			seconds(t, sum->first_s), sum->first_s / sum->d.median);
}

/* Lines, perhaps of a file. */
static void add_notes(const char *lines, bool colour, struct buf *out)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		style_begin(out, STYLE_WARNING, colour);
		text_add_printable(out, lines, n);
		style_end(out, STYLE_WARNING, colour);
		buf_addc(out, '\n');
		lines += n + (lines[n] == '\n');
	}
}

static void print_one(const struct bench_view *v, size_t i, struct buf *out)
{
	const struct series *s = &v->series[i];

	if (i)
		buf_addc(out, '\n');
	style_begin(out, STYLE_ACCENT, v->colour);
	text_add_printable(out, s->name, strlen(s->name));
	style_end(out, STYLE_ACCENT, v->colour);
	buf_addc(out, '\n');
	add_times(s, &v->sums[i], v->colour, out);
	add_histogram(&v->sums[i], out);
	add_spread(&v->sums[i], out);
	add_procedure(v, i, out);
	if (s->conditions)
		buf_adds(out, s->conditions);
	if (!s->is_command) {
		buf_adds(out, "  timeit's line: ");
		bench_print_timeit(v, i, out);
	}
	add_notes(s->notes ? s->notes : "", v->colour, out);
}

static void print_comparison(const struct bench_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = "best", .align = TABLE_RIGHT },
		{ .title = "median", .align = TABLE_RIGHT },
		{ .title = "mean", .align = TABLE_RIGHT },
		{ .title = "± 95 %", .align = TABLE_RIGHT },
		{ .title = "× fastest", .align = TABLE_RIGHT },
		{ .title = "what", .cut = TEXT_CUT_END, .min_width = 16 },
	};
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);
	size_t best = 0;

	for (size_t i = 1; i < v->n; i++)
		if (v->sums[i].d.median < v->sums[best].d.median)
			best = i;
	for (size_t i = 0; i < v->n; i++) {
		const struct series_summary *s = &v->sums[i];

		table_cell_unit(t, UNIT_SECONDS, s->d.least);
		table_cell_unit(t, UNIT_SECONDS, s->d.median);
		table_cell_unit(t, UNIT_SECONDS, s->d.mean);
		table_cell_unit(t, UNIT_SECONDS,
			isfinite(s->mean.low) ? (s->mean.high - s->mean.low) / 2 : UNITS_UNKNOWN);
		table_cell(t, "%.2f", s->d.median / v->sums[best].d.median);
		table_cell(t, "%s", v->series[i].name);
	}
	buf_addc(out, '\n');
	table_emit(t, out, v->width, v->colour);
	table_free(t);
	buf_adds(out,
		"  (medians, measured one after the other; to decide which is faster: leadline compare)\n");
}

void bench_print(const struct bench_view *v, struct buf *out)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->timeit)
			bench_print_timeit(v, i, out);
		else
			print_one(v, i, out);
	if (v->n > 1)
		print_comparison(v, out);
}
