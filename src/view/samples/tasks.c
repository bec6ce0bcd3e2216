/* SPDX-License-Identifier: MIT
 * See tasks.h. */
#include "view/samples/tasks.h"

#include "analyze/code/frames.h"
#include "analyze/samples/stacks.h"
#include "analyze/samples/tasks.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

static void print_other(double seconds, const struct profile_view *v, struct buf *out)
{
	char text[UNITS_TEXT];

	style_add(out, STYLE_DIM, v->colour,
		"%s more in no task: the event loop, its waits, very short tasks\n",
		units_format(text, UNIT_SECONDS, seconds));
}

static void add_each(struct table *table, const struct tasks *t, const struct stacks *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct task *x = &t->v[i];

		table_cell_unit(table, UNIT_SECONDS, x->seconds);
		table_cell_unit(table, UNIT_SHARE, x->cpu_s / x->seconds);
		table_cell_unit(table, UNIT_COUNT, (double)x->n_samples);
		table_cell(table, "%s", x->name);
		table_cell(table, "%s",
			x->coroutine == TASK_UNKNOWN
				? ""
				: frames_function(s->frames, x->coroutine)->name);
		table_cell(table, "%s", frames_function(s->frames, x->top_leaf)->name);
	}
}

static void add_groups(struct table *table, const struct tasks *t, const struct stacks *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct task_group *x = &t->groups[i];

		table_cell_unit(table, UNIT_SECONDS, x->seconds);
		table_cell_unit(table, UNIT_SHARE, x->cpu_s / x->seconds);
		table_cell_unit(table, UNIT_COUNT, (double)x->n_tasks);
		table_cell_unit(table, UNIT_SECONDS, x->least_s);
		table_cell_unit(table, UNIT_SECONDS, x->median_s);
		table_cell_unit(table, UNIT_SECONDS, x->most_s);
		table_cell(table, "%s", x->name);
		table_cell(table, "%s", frames_function(s->frames, x->top_leaf)->name);
	}
}

void tasks_print(const struct tasks *t, const struct stacks *s, const struct profile_view *v,
	bool is_each, struct buf *out)
{
	static const struct table_column each[] = {
		{ "time", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "on CPU", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "samples", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "task", TABLE_LEFT, TEXT_CUT_END, 8 },
		{ "coroutine", TABLE_LEFT, TEXT_CUT_MIDDLE, 8 },
		{ "mostly in", TABLE_LEFT, TEXT_CUT_MIDDLE, 8 },
	};
	static const struct table_column grouped[] = {
		{ "time", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "on CPU", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "tasks", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "min", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "median", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "max", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "coroutine", TABLE_LEFT, TEXT_CUT_MIDDLE, 8 },
		{ "mostly in", TABLE_LEFT, TEXT_CUT_MIDDLE, 8 },
	};
	struct table *table = is_each ? table_new(each, sizeof each / sizeof *each)
				      : table_new(grouped, sizeof grouped / sizeof *grouped);
	size_t all = is_each ? t->n : t->n_groups, n = profile_rows(v, all);

	profile_title(v, is_each ? "Tasks" : "Tasks by coroutine", out);
	(is_each ? add_each : add_groups)(table, t, s, n);
	if (n) {
		table_emit(table, out, v->width, v->colour);
		profile_more(v, n, all, out);
		print_other(t->other_s, v, out);
	} else {
		buf_adds(out, "no asyncio task was seen\n");
	}
	table_free(table);
}
