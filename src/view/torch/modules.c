/* SPDX-License-Identifier: MIT
 * See modules.h. */
#include "view/torch/modules.h"

#include <stdio.h>

#include "analyze/torch/modules.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/table.h"
#include "base/banned.h"

enum { INDENT = 2, DEEPEST = 40 }; /* indented at most */

static struct table *new_table(const struct op_modules *m)
{
	struct table_column columns[11] = {
		{ .title = "module", .cut = TEXT_CUT_END, .min_width = 16 }
	};
	size_t n = 1;
	const char *const titles[] = { "%", m->has_calls ? "calls" : NULL, "total", "self",
		m->has_backward ? "backward" : NULL, m->has_memory ? "memory" : NULL,
		m->has_device ? "GPU" : NULL, m->has_device ? "self GPU" : NULL,
		m->has_device ? "launches" : NULL, m->has_device ? NULL : "operators" };

	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (titles[i])
			columns[n++] =
				(struct table_column){ .title = titles[i], .align = TABLE_RIGHT };
	return table_new(columns, n);
}

static void add_row(struct table *table, const struct op_modules *all, const struct op_module *m)
{
	int indent = INDENT * (int)(m->depth < DEEPEST ? m->depth : DEEPEST);

	if (*m->path)
		table_cell(table, "%*s%s (%s)", indent, "", m->path, m->name);
	else
		table_cell(table, "%*s%s", indent, "", m->name);
	table_cell_unit(table, UNIT_SHARE, m->share);
	if (all->has_calls)
		table_cell_unit(table, UNIT_COUNT, (double)m->n_calls);
	table_cell_unit(table, UNIT_SECONDS, m->seconds);
	table_cell_unit(table, UNIT_SECONDS, m->self_s);
	if (all->has_backward)
		table_cell_unit(table, UNIT_SECONDS, m->backward_s);
	if (all->has_memory)
		table_cell_unit(table, UNIT_BYTES, (double)m->bytes);
	if (all->has_device) {
		table_cell_unit(table, UNIT_SECONDS, m->device_s);
		table_cell_unit(table, UNIT_SECONDS, m->self_device_s);
		table_cell_unit(table, UNIT_COUNT, (double)m->n_launches);
	} else {
		table_cell_unit(table, UNIT_COUNT, (double)m->n_operators);
	}
}

void op_modules_print(const struct op_modules *modules, const struct ops_view *v, struct buf *out)
{
	struct table *table;
	char outside[UNITS_TEXT];

	style_add(out, STYLE_BOLD, v->colour, "Modules\n");
	if (!modules->n) {
		buf_adds(out,
			ops_absent(v,
				v->is_light
					? "no operator ran in a module\n"
					: "no call of a module was recorded; profile with with_stack=True to see them\n"));
		return;
	}
	table = new_table(modules);
	for (size_t i = 0; i < modules->n && i < v->tree_limit; i++)
		add_row(table, modules, &modules->v[i]);
	table_emit(table, out, v->width, v->colour);
	table_free(table);
	if (modules->n > v->tree_limit)
		style_add(out, STYLE_DIM, v->colour, "%zu more; --limit 0 shows all\n",
			modules->n - v->tree_limit);
	if (!modules->has_calls)
		style_add(out, STYLE_DIM, v->colour,
			"times are of operators; --torch=full also counts calls and the Python "
			"between operators\n");
	if (modules->has_device)
		buf_printf(out, "%s on the device belong to no module: loss, optimizer, copies\n",
			units_format(outside, UNIT_SECONDS, modules->outside_device_s));
}
