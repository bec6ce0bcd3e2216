/* SPDX-License-Identifier: MIT
 * See growth.h. */
#include "view/bench/growth.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "base/banned.h"

static void add_table(const struct growth_view *v, struct buf *out)
{
	struct buf per = BUF_INIT;
	struct table *t;

	buf_printf(&per, "time / %s", v->size);
	t = table_new((const struct table_column[]){ { .title = v->size, .align = TABLE_RIGHT },
			      { .title = "time", .align = TABLE_RIGHT },
			      { .title = buf_str(&per), .align = TABLE_RIGHT },
			      { .title = "exponent since", .align = TABLE_RIGHT } },
		4);
	for (size_t i = 0; i < v->n; i++) {
		const struct growth_point *p = &v->points[i];

		table_cell(t, "%.0f", p->n);
		table_cell_unit(t, UNIT_SECONDS, p->seconds);
		table_cell_unit(t, UNIT_SECONDS, p->seconds / p->n);
		if (i)
			table_cell(
				t, "%.2f", log(p->seconds / p[-1].seconds) / log(p->n / p[-1].n));
		else
			table_cell(t, "%s", "");
	}
	table_emit(t, out, v->width, v->colour);
	table_free(t);
	buf_done(&per);
}

static void add_law(const struct growth_view *v, struct buf *out)
{
	const struct growth *g = v->growth;

	buf_adds(out, "  time ~ ");
	style_add(out, STYLE_BOLD, v->colour, "%s^%.2f", v->size, g->exponent);
	buf_printf(out, ", 95 %% between %.2f and %.2f", g->interval.low, g->interval.high);
	if (g->is_bent)
		buf_printf(out, ", from %s = %.0f on", v->size, v->points[g->first].n);
	if (*g->closest)
		buf_printf(out, ": like %s", g->closest);
	if (*g->also)
		buf_printf(out, " (or %s)", g->also);
	buf_addc(out, '\n');
	if (g->is_bent)
		buf_printf(out,
			"  the line bends: below that %s^%.2f (fixed costs, caches), so one exponent does not describe all sizes\n",
			v->size, g->first_exponent);
}

void growth_print(const struct growth_view *v, struct buf *out)
{
	style_begin(out, STYLE_ACCENT, v->colour);
	text_add_printable(out, v->what, strlen(v->what));
	style_end(out, STYLE_ACCENT, v->colour);
	buf_addc(out, '\n');
	add_table(v, out);
	if (v->n >= GROWTH_LEAST)
		add_law(v, out);
	else
		buf_printf(out, "  too few sizes for an exponent: %d are needed\n", GROWTH_LEAST);
	if (*v->stopped)
		buf_printf(out, "  %s\n", v->stopped);
}
