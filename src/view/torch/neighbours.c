/* SPDX-License-Identifier: MIT
 * See neighbours.h. */
#include "view/torch/neighbours.h"

#include <inttypes.h>

#include "analyze/torch/neighbours.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/table.h"
#include "base/banned.h"

static void add_row(struct table *t, const struct op_neighbours *n, const struct op_neighbour *x,
	bool is_callers)
{
	table_cell_unit(t, UNIT_SECONDS, x->cpu_us / 1e6);
	table_cell_unit(t, UNIT_SHARE, n->cpu_us > 0 ? x->cpu_us / n->cpu_us : UNITS_UNKNOWN);
	if (x->n_calls)
		table_cell_unit(t, UNIT_COUNT, (double)x->n_calls);
	else
		table_cell(t, "%s", "");
	table_cell(t, "%s",
		*x->name             ? x->name
			: is_callers ? "(no operator: Python)"
				     : "(its own time)");
}

void op_neighbours_print(
	const struct op_neighbours *n, bool is_callers, const struct ops_view *v, struct buf *out)
{
	const struct op_neighbour *rows = is_callers ? n->callers : n->callees;
	size_t all = is_callers ? n->n_callers : n->n_callees;
	struct table *t =
		table_new((struct table_column[]){ { .title = "time", .align = TABLE_RIGHT },
				  { .title = "%", .align = TABLE_RIGHT },
				  { .title = "calls", .align = TABLE_RIGHT },
				  { .title = is_callers ? "called by" : "calls to",
					  .cut = TEXT_CUT_END,
					  .min_width = 24 } },
			4);
	char total[UNITS_TEXT];

	style_add(out, STYLE_BOLD, v->colour, "%s of %s\n", is_callers ? "Callers" : "Callees",
		n->name);
	style_add(out, STYLE_DIM, v->colour, "%s in %" PRIu64 " call%s\n",
		units_format(total, UNIT_SECONDS, n->cpu_us / 1e6), n->n_calls,
		n->n_calls == 1 ? "" : "s");
	for (size_t i = 0; i < all && i < v->limit; i++)
		add_row(t, n, &rows[i], is_callers);
	table_emit(t, out, v->width, v->colour);
	table_free(t);
	if (all > v->limit)
		style_add(out, STYLE_DIM, v->colour, "%zu more; --limit 0 shows all\n",
			all - v->limit);
}
