/* SPDX-License-Identifier: MIT
 * See tasks.h. */
#include "view/tasks.h"

#include "analyze/frames.h"
#include "analyze/stacks.h"
#include "analyze/tasks.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/profile.h"
#include "view/profile_parts.h"
#include "view/style.h"
#include "base/banned.h"

static void print_other(double seconds, const struct profile_view *v, struct buf *out)
{
	char text[UNITS_TEXT];

	style_add(out, STYLE_DIM, v->colour,
		"%s more in no task: the event loop, its waits, very short tasks\n",
		units_format(text, UNIT_SECONDS, seconds));
}

void tasks_print(const struct tasks *t, const struct stacks *s, const struct profile_view *v,
	struct buf *out)
{
	static const struct table_column columns[] = {
		{ "time", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "on CPU", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "samples", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "task", TABLE_LEFT, TEXT_CUT_END, 8 },
		{ "mostly in", TABLE_LEFT, TEXT_CUT_MIDDLE, 8 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	size_t n = profile_rows(v, t->n);

	profile_title(v, "Tasks", out);
	for (size_t i = 0; i < n; i++) {
		const struct task *x = &t->v[i];

		table_cell_unit(table, UNIT_SECONDS, x->seconds);
		table_cell_unit(table, UNIT_SHARE, x->cpu_s / x->seconds);
		table_cell_unit(table, UNIT_COUNT, (double)x->n_samples);
		table_cell(table, "%s", x->name);
		table_cell(table, "%s", frames_function(s->frames, x->top_leaf)->name);
	}
	if (n) {
		table_emit(table, out, v->width, v->colour);
		profile_more(v, n, t->n, out);
		print_other(t->other_s, v, out);
	} else {
		buf_adds(out, "no asyncio task was seen\n");
	}
	table_free(table);
}
