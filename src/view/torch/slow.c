/* SPDX-License-Identifier: MIT
 * See overview.h: what slow steps had more of. */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/torch/slow.h"
#include "analyze/torch/steps.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/overview.h"
#include "view/torch/table.h"
#include "base/banned.h"

void op_slow_print(const struct op_slow *slow, const struct op_steps *steps,
	const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "step", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "time", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "more by", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "was", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "times", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "was", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "of its own time", TABLE_LEFT, TEXT_CUT_END, 16 },
	};
	struct table *table;

	if (!slow->n)
		return;
	buf_addc(out, '\n');
	text_add_line(out, "Slow steps, compared with the median %s", steps->v[slow->median].name);
	table = table_new(columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < slow->n; i++)
		for (size_t k = 0; k < slow->v[i].n; k++) {
			const struct op_slow_row *r = &slow->v[i].v[k];
			char time[UNITS_TEXT], waited[UNITS_TEXT + 48];

			table_cell(table, "%s", k ? "" : steps->v[slow->v[i].step].name);
			if (k)
				table_cell(table, "%s", "");
			else
				table_cell_unit(table, UNIT_SECONDS, slow->v[i].seconds);
			table_cell_unit(table, UNIT_SECONDS, r->seconds - r->median_s);
			table_cell_unit(table, UNIT_SECONDS, r->median_s);
			table_cell(table, "%" PRIu64, r->n_times);
			table_cell(table, "%" PRIu64, r->n_median);
			if (r->waited_s > 0)
				snprintf(waited, sizeof waited,
					" (at least %s waiting for a busy CPU)",
					units_format(time, UNIT_SECONDS, r->waited_s));
			table_cell(table, "%s%s%s", r->is_device ? "GPU: " : "",
				op_kernel_short_name(r->name), r->waited_s > 0 ? waited : "");
		}
	table_emit(table, out, v->width, v->colour);
	table_free(table);
	if (slow->n_slow > slow->n)
		style_add(out, STYLE_DIM, v->colour,
			"%zu more steps are 20 %% slower than the median\n",
			slow->n_slow - slow->n);
}
