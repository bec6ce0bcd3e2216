/* SPDX-License-Identifier: MIT
 * See arguments.h. */
#include "view/calls/arguments.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "analyze/calls/arguments.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

static const double RARE = 0.01; /* arguments of fewer calls than this are not worth a word */

static void add_distinct(struct table *t, const struct argument_row *r)
{
	char text[UNITS_TEXT];

	if (r->is_exact)
		table_cell(t, "%.0f", r->distinct);
	else
		table_cell(t, "~%s", units_format(text, UNIT_COUNT, r->distinct));
}

static void add_repeated(struct table *t, const struct argument_row *r)
{
	char low[UNITS_TEXT], high[UNITS_TEXT];
	const char *most = r->opaque ? "≤ " : "";

	units_format(low, UNIT_SHARE, r->repeated_low);
	units_format(high, UNIT_SHARE, r->repeated_high);
	if (strcmp(low, high) == 0)
		table_cell(t, "%s%s", most, low);
	else
		table_cell(t, "%s%s – %s", most, low, high);
}

static void add_shape(struct table *t, const struct argument_row *r)
{
	char text[UNITS_TEXT];
	uint64_t sure = r->shape_calls - (r->shape_over < r->shape_calls ? r->shape_over : 0);

	if ((double)sure < RARE * (double)r->probed || sure < 2)
		table_cell(t, "%s", "");
	else
		table_cell(t, "%s%s× %s", r->shape_over ? "≥ " : "",
			units_format(text, UNIT_COUNT, (double)sure), r->shape);
}

static void print_legend(const struct profile_view *v, bool has_opaque, struct buf *out)
{
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out,
		"repeated: share of the calls whose arguments had been passed before, with a 95 % interval where only some calls were looked at (probed)",
		0, v->width);
	if (has_opaque)
		style_wrap(out,
			"≤ objects are compared by type; lists, dictionaries and long strings by length. So calls that look the same may differ",
			0, v->width);
	style_end(out, STYLE_DIM, v->colour);
}

static bool are_all_probed(const struct arguments *a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a->v[i].probed != a->v[i].calls)
			return false;
	return true;
}

static struct table *new_table(bool with_probed)
{
	static const struct table_column columns[] = {
		{ "ncalls", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "distinct", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "repeated", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "filename:lineno(function)", TABLE_LEFT, TEXT_CUT_MIDDLE, 12 },
		{ "most often", TABLE_LEFT, TEXT_CUT_END, 12 },
		{ "probed", TABLE_RIGHT, TEXT_CUT_END, 0 },
	};

	return table_new(columns, with_probed ? 6 : 5);
}

void arguments_print(const struct arguments *a, const struct profile_view *v, struct buf *out)
{
	size_t n = profile_rows(v, a->n);
	bool has_opaque = false, with_probed = !are_all_probed(a, n);
	struct table *table = new_table(with_probed);

	profile_title(v, "Arguments", out);
	for (size_t i = 0; i < n; i++) {
		const struct argument_row *r = &a->v[i];

		has_opaque |= r->opaque > 0;
		table_cell(table, "%" PRIu64, r->calls);
		add_distinct(table, r);
		add_repeated(table, r);
		table_cell(table, "%s:%u(%s)", profile_path(v, r->file), r->first_line, r->name);
		add_shape(table, r);
		if (with_probed)
			table_cell(table, "%" PRIu64, r->probed);
	}
	if (n) {
		table_emit(table, out, v->width, v->colour);
		profile_more(v, n, a->n, out);
		if (v->legend)
			print_legend(v, has_opaque, out);
	} else {
		buf_adds(out, "no arguments were looked at: leadline run --args\n");
	}
	table_free(table);
}
