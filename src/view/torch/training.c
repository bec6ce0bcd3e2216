/* SPDX-License-Identifier: MIT
 * See training.h. */
#include "view/torch/training.h"

#include "analyze/torch/training.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

void training_print(const struct training *t, const struct profile_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "steps", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "processes", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "steps/s", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "samples/s", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "tokens/s", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "median step", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "p99", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "max", TABLE_RIGHT, TEXT_CUT_END, 0 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	profile_title(v, "Training", out);
	table_cell_unit(table, UNIT_COUNT, (double)t->n_steps);
	table_cell_unit(table, UNIT_COUNT, (double)t->n_processes);
	table_cell_unit(table, UNIT_RATIO, t->steps_per_s);
	table_cell_unit(table, UNIT_COUNT, t->samples ? t->samples_per_s : UNITS_UNKNOWN);
	table_cell_unit(table, UNIT_COUNT, t->tokens ? t->tokens_per_s : UNITS_UNKNOWN);
	table_cell_unit(table, UNIT_SECONDS, t->median_s);
	table_cell_unit(table, UNIT_SECONDS, t->p99_s);
	table_cell_unit(table, UNIT_SECONDS, t->max_s);
	table_emit(table, out, v->width, v->colour);
	table_free(table);
}
