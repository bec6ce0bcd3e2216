/* SPDX-License-Identifier: MIT
 * See history.h. */
#include "view/bench/history.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "base/banned.h"

enum { ROWS = 20, DATE_BYTES = 24, COMMIT_WIDTH = 12 };

static void format_date(char to[DATE_BYTES], double since_1970_s)
{
	time_t t = (time_t)since_1970_s;
	struct tm utc;

	to[0] = '\0';
	if (since_1970_s > 0 && gmtime_r(&t, &utc))
		strftime(to, DATE_BYTES, "%Y-%m-%d %H:%M", &utc);
}

static const struct history_step *step_at(const struct history *h, size_t point)
{
	for (size_t i = 0; i < h->n_steps; i++)
		if (h->steps[i].at == point)
			return &h->steps[i];
	return NULL;
}

static void add_trend(const struct history_view *v, struct buf *out)
{
	const struct history *h = v->history;
	double row[64], most = 0;
	size_t n = h->n < 64 ? h->n : 64;

	for (size_t i = 0; i < n; i++) {
		row[i] = h->points[h->n - n + i].seconds;
		most = fmax(most, row[i]);
	}
	buf_adds(out, "  ");
	style_sparkline(out, row, n, most, n);
	buf_addc(out, '\n');
}

/* The newest points, oldest first, those with a step marked. */
static void add_points(const struct history_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = "commit",
			.align = TABLE_LEFT,
			.cut = TEXT_CUT_END,
			.min_width = COMMIT_WIDTH },
		{ .title = "date (UTC)", .align = TABLE_LEFT },
		{ .title = "runs", .align = TABLE_RIGHT },
		{ .title = "time", .align = TABLE_RIGHT },
		{ .title = "step", .align = TABLE_LEFT },
	};
	const struct history *h = v->history;
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = h->n > ROWS ? h->n - ROWS : 0; i < h->n; i++) {
		const struct history_point *p = &h->points[i];
		const struct history_step *s = step_at(h, i);
		char date[DATE_BYTES];

		format_date(date, p->begun_s);
		table_cell(t, "%s", *p->commit ? p->commit : "–");
		table_cell(t, "%s", date);
		table_cell(t, "%zu", p->n);
		table_cell_unit(t, UNIT_SECONDS, p->seconds);
		if (s)
			table_cell(t, "%s %.1f %% (%+.1f to %+.1f)",
				s->ratio > 1 ? "slower by" : "faster by", 100 * fabs(s->ratio - 1),
				100 * (s->interval.low - 1), 100 * (s->interval.high - 1));
		else
			table_cell(t, "%s", "");
	}
	table_emit(t, out, v->width, v->colour);
	table_free(t);
}

void history_print(const struct history_view *v, struct buf *out)
{
	const struct history *h = v->history;
	size_t n_runs = h->n + h->n_repeats;

	buf_adds(out, "History of ");
	style_begin(out, STYLE_ACCENT, v->colour);
	text_add_printable(out, v->name, strlen(v->name));
	style_end(out, STYLE_ACCENT, v->colour);
	buf_printf(out, ": %zu commit%s, %zu run%s\n", h->n, h->n == 1 ? "" : "s", n_runs,
		n_runs == 1 ? "" : "s");
	if (h->n > 1)
		add_trend(v, out);
	add_points(v, out);
	if (isnan(h->noise))
		buf_adds(out,
			"  no verdict yet: measure one of these commits again, so that the noise of this machine is known\n");
	else
		buf_printf(out,
			"  runs of one commit differ by %.1f %% (learned from %zu repetition%s); %s\n",
			100 * expm1(h->noise), h->n_repeats, h->n_repeats == 1 ? "" : "s",
			h->n_steps ? "steps exceed what that noise makes by chance"
				   : "no step stands out from that");
	if (v->n_unlike)
		buf_printf(out, "  left out: %zu runs of another machine, CPU or Python\n",
			v->n_unlike);
}
