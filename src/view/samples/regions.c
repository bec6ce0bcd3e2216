/* SPDX-License-Identifier: MIT
 * See regions.h. */
#include "view/samples/regions.h"

#include "analyze/samples/regions.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

void regions_print(
	const struct regions *r, double wall_s, const struct profile_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "time", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "of wall", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "times", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "each", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "min", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "max", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "threads", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "region", TABLE_LEFT, TEXT_CUT_END, 8 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	size_t n = profile_rows(v, r->n);

	profile_title(v, "Regions", out);
	for (size_t i = 0; i < n; i++) {
		const struct region *x = &r->v[i];

		table_cell_unit(table, UNIT_SECONDS, x->seconds);
		table_cell_unit(
			table, UNIT_SHARE, wall_s > 0 ? x->seconds / wall_s : UNITS_UNKNOWN);
		table_cell_unit(table, UNIT_COUNT, (double)x->n_times);
		table_cell_unit(table, UNIT_SECONDS, x->seconds / (double)x->n_times);
		table_cell_unit(table, UNIT_SECONDS, x->min_s);
		table_cell_unit(table, UNIT_SECONDS, x->max_s);
		table_cell_unit(table, UNIT_COUNT, (double)x->n_threads);
		table_cell(table, "%s", x->name);
	}
	if (n) {
		table_emit(table, out, v->width, v->colour);
		profile_more(v, n, r->n, out);
	} else {
		buf_adds(out, "the program named no regions: with leadline.region(\"name\"): …\n");
	}
	table_free(table);
}
