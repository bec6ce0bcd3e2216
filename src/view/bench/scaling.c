/* SPDX-License-Identifier: MIT
 * See scaling.h. */
#include "view/bench/scaling.h"

#include <math.h>
#include <string.h>

#include "analyze/stats/distribution.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "base/banned.h"

static void add_table(const struct scaling_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = "threads", .align = TABLE_RIGHT },
		{ .title = "time per loop", .align = TABLE_RIGHT },
		{ .title = "loops/s", .align = TABLE_RIGHT },
		{ .title = "speed-up", .align = TABLE_RIGHT },
		{ .title = "of ideal", .align = TABLE_RIGHT },
		{ .title = "", .align = TABLE_LEFT },
	};
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = 0; i < v->n; i++) {
		const struct scaling_point *p = &v->points[i];
		double speedup = scaling_speedup(v->points, i);
		double s = distribution_of(p->seconds, p->n).median;

		table_cell(t, "%u", p->threads);
		table_cell_unit(t, UNIT_SECONDS, s);
		table_cell_unit(t, UNIT_COUNT, 1 / s);
		table_cell(t, "%.2f", speedup);
		table_cell_unit(t, UNIT_SHARE, speedup / p->threads);
		table_cell(t, "%s", p->threads > v->n_cpus ? "more threads than CPUs" : "");
	}
	table_emit(t, out, v->width, v->colour);
	table_free(t);
}

/* Where the share may be anything, what follows from it is nothing. */
static bool is_sharp(const struct scaling *s)
{
	return s->serial_interval.high - s->serial_interval.low < 0.3;
}

static void add_law(const struct scaling_view *v, struct buf *out)
{
	const struct scaling *s = v->scaling;

	buf_adds(out, "  serial share ");
	style_add(out, STYLE_BOLD, v->colour, "%.0f %%", 100 * s->serial);
	buf_printf(out, ", 95 %% between %.0f and %.0f %%", 100 * s->serial_interval.low,
		100 * s->serial_interval.high);
	if (isfinite(s->most_threads))
		buf_printf(out,
			"; contention %.3g per pair (%.3g to %.3g): fastest with about %.0f threads, %.2f times one",
			s->contention, s->contention_interval.low, s->contention_interval.high,
			s->most_threads, s->most_speedup);
	else if (isfinite(s->most_speedup) && is_sharp(s))
		buf_printf(out, ": at most %.2f times one thread, however many there are",
			s->most_speedup);
	buf_addc(out, '\n');
	if (!s->has_contention)
		buf_printf(out,
			"  contention is unknown: that takes two thread counts above 1 and within the %u CPUs here\n",
			v->n_cpus);
	if (!is_sharp(s))
		buf_adds(out,
			"  the machine was too busy to say more: repeat on a quiet one, or with more --time\n");
	else if (v->has_gil && s->serial > 0.5)
		buf_adds(out,
			"  this interpreter runs one thread at a time (GIL): use processes, a free-threaded build, or calls that release it\n");
}

void scaling_print(const struct scaling_view *v, struct buf *out)
{
	style_begin(out, STYLE_ACCENT, v->colour);
	text_add_printable(out, v->what, strlen(v->what));
	style_end(out, STYLE_ACCENT, v->colour);
	buf_printf(out, "  (%s, %s)\n", v->python, v->has_gil ? "with a GIL" : "free-threaded");
	add_table(v, out);
	if (v->scaling->is_known)
		add_law(v, out);
	else
		buf_printf(out,
			"  no serial share: that takes at least 2 threads on as many CPUs (%u here)\n",
			v->n_cpus);
}
