/* SPDX-License-Identifier: MIT
 * See diff.h. */
#include "view/torch/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/torch/diff.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/diff.h"
#include "view/kit/style.h"
#include "view/torch/table.h"
#include "base/banned.h"

static const char *const words[] = { "in the whole trace", "as shares of each trace",
	"in a step, on average" };

static enum unit unit_of(const struct ops_diff *d)
{
	return d->scale == OPS_DIFF_RUN ? UNIT_SHARE : UNIT_SECONDS;
}

static void add_change(struct table *t, enum unit unit, double a, double b)
{
	char text[UNITS_TEXT];

	table_cell(t, "%s", a == b ? "·" : diff_change_text(text, unit, b - a));
	table_cell(t, "%s", diff_ratio_text(text, a, b));
	table_cell_unit(t, unit, a);
	table_cell_unit(t, unit, b);
}

static const char *calls_text(char out[UNITS_TEXT], const struct ops_diff *d, double calls)
{
	if (d->scale == OPS_DIFF_RUN)
		return units_format(out, UNIT_SHARE, calls);
	snprintf(out, UNITS_TEXT, calls == floor(calls) ? "%.0f" : "%.2f", calls);
	return out;
}

static void add_calls(struct table *t, const struct ops_diff *d, const struct ops_diff_row *r)
{
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (r->side[0].calls == r->side[1].calls)
		table_cell(t, "%s", calls_text(a, d, r->side[0].calls));
	else
		table_cell(t, "%s → %s", calls_text(a, d, r->side[0].calls),
			calls_text(b, d, r->side[1].calls));
}

static void print_rows(const struct ops_diff *d, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "self CPU", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "by", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "A", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "B", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "calls", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "operator", TABLE_LEFT, TEXT_CUT_END, 16 },
	};
	static const struct table_column with_device[] = {
		{ "self CPU", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "by", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "A", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "B", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "device", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "by", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "A", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "B", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "calls", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "operator", TABLE_LEFT, TEXT_CUT_END, 16 },
	};
	struct table *t = d->has_device
		? table_new(with_device, sizeof with_device / sizeof *with_device)
		: table_new(columns, sizeof columns / sizeof *columns);
	double rest_s = 0, rest_device_s = 0;
	char cpu[UNITS_TEXT], device[UNITS_TEXT];

	for (size_t i = 0; i < d->n; i++) {
		const struct ops_diff_row *r = &d->v[i];

		if (i >= v->limit) {
			rest_s += r->side[1].self_cpu_s - r->side[0].self_cpu_s;
			rest_device_s += r->side[1].self_device_s - r->side[0].self_device_s;
			continue;
		}
		add_change(t, unit_of(d), r->side[0].self_cpu_s, r->side[1].self_cpu_s);
		if (d->has_device)
			add_change(
				t, unit_of(d), r->side[0].self_device_s, r->side[1].self_device_s);
		add_calls(t, d, r);
		table_cell(t, "%s", r->name);
	}
	table_emit(t, out, v->width, v->colour);
	table_free(t);
	if (d->n > v->limit)
		buf_printf(out, "… and %zu more, together %s on the CPU%s%s; --limit 0 shows all\n",
			d->n - v->limit, diff_change_text(cpu, unit_of(d), rest_s),
			d->has_device ? " and on the device " : "",
			d->has_device ? diff_change_text(device, unit_of(d), rest_device_s) : "");
}

static void print_trace(const char *which, const struct ops_diff_trace *t, struct buf *out)
{
	char step[UNITS_TEXT];

	buf_printf(out, "%s  ", which);
	text_add_printable(out, t->path, strlen(t->path));
	if (t->n_steps)
		buf_printf(out, "  %zu steps, %s each (median)", t->n_steps,
			units_format(step, UNIT_SECONDS, t->step_s));
	buf_addc(out, '\n');
}

static void print_total(
	const struct ops_diff *d, const char *what, double a, double b, struct buf *out)
{
	char from[UNITS_TEXT], to[UNITS_TEXT], change[UNITS_TEXT], ratio[UNITS_TEXT];

	buf_printf(out, "%s  %s → %s  %s (%s)\n", what, units_format(from, unit_of(d), a),
		units_format(to, unit_of(d), b), diff_change_text(change, unit_of(d), b - a),
		diff_ratio_text(ratio, a, b));
}

void ops_diff_print(const struct ops_diff *d, const struct ops_view *v, struct buf *out)
{
	const struct ops_diff_side *a = &d->trace[0].total, *b = &d->trace[1].total;

	print_trace("A", &d->trace[0], out);
	print_trace("B", &d->trace[1], out);
	style_add(out, STYLE_BOLD, v->colour, "\nOperators, %s\n", words[d->scale]);
	if (d->scale != OPS_DIFF_RUN) {
		print_total(d, "CPU   ", a->self_cpu_s, b->self_cpu_s, out);
		if (d->has_device)
			print_total(d, "device", a->self_device_s, b->self_device_s, out);
	}
	buf_addc(out, '\n');
	print_rows(d, v, out);
}
