/* SPDX-License-Identifier: MIT
 * See op_overview.h. */
#include "view/op_overview.h"

#include <math.h>

#include "analyze/finding.h"
#include "analyze/op_advice.h"
#include "analyze/op_events.h"
#include "analyze/op_steps.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/finding.h"
#include "view/ops.h"
#include "view/style.h"
#include "base/banned.h"

enum { BAR = 30, NARROW = 100 };

/* ---- overview -------------------------------------------------------------------------------- */

static void print_figure(
	const char *what, enum unit unit, double value, const char *note, struct buf *out)
{
	char text[UNITS_TEXT];

	if (units_is_known(value))
		buf_printf(out, "%-22s %10s%s\n", what, units_format(text, unit, value), note);
}

static void print_device(const struct op_events *x, const struct op_steps *s, struct buf *out)
{
	if (!(s->kernel_s > 0))
		return;
	if (*x->device_name)
		text_add_line(out, "%-22s %s%s", "device", x->device_name,
			x->n_devices > 1 ? ", and others" : "");
	print_figure("busy", UNIT_SHARE, s->busy_s / s->seconds,
		"   of the steps a kernel, copy or fill ran", out);
	print_figure("SM efficiency", UNIT_SHARE, s->sm_efficiency,
		"   estimate: multiprocessors with work", out);
	print_figure("occupancy", UNIT_SHARE, s->occupancy, "   estimate, of kernel time", out);
	print_figure("tensor cores", UNIT_SHARE, s->tensor_core_s / s->kernel_s,
		"   of kernel time, by the names of kernels", out);
	print_figure(
		"peak memory", UNIT_BYTES, s->peak_bytes ? (double)s->peak_bytes : NAN, "", out);
}

static void print_parts(const struct op_steps *s, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = { { "", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "", TABLE_RIGHT, TEXT_CUT_END, 0 }, { "", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 } };
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	for (unsigned i = 0; i < OP_N_PARTS; i++) {
		double share = s->seconds > 0 ? s->parts_s[i] / s->seconds : 0;
		struct buf bar = BUF_INIT;

		if (!(s->parts_s[i] > 0))
			continue;
		style_bar(&bar, share, BAR);
		table_cell(table, "%s", op_part_names[i]);
		table_cell_unit(table, UNIT_SECONDS, s->parts_s[i]);
		table_cell_unit(table, UNIT_SHARE, share);
		table_cell(table, "%s", buf_str(&bar));
		buf_done(&bar);
	}
	table_emit(table, out, v->width, v->colour);
	table_free(table);
}

/* Savings of time alone: nothing else is added up. */
static size_t count_savings(const struct op_advice *advice)
{
	size_t n = 0;

	for (size_t i = 0; i < advice->n; i++)
		n += units_is_known(advice->v[i].saving.value) &&
			advice->v[i].saving.unit == UNIT_SECONDS;
	return n;
}

static void print_advice(const struct op_advice *advice, const struct op_steps *s,
	const struct ops_view *v, struct buf *out)
{
	char saving[UNITS_TEXT], share[UNITS_TEXT];
	struct buf text = BUF_INIT;

	if (!advice->n)
		return;
	style_add(out, STYLE_BOLD, v->colour, "\nWhat to change\n");
	findings_print(advice->v, advice->n, v->colour, v->width, out);
	if (count_savings(advice) > 1) {
		buf_printf(&text,
			"Savings overlap and do not add up: together at most %s (%s of the "
			"steps).",
			units_format(saving, UNIT_SECONDS, advice->together_s),
			units_format(share, UNIT_SHARE, advice->together_s / s->seconds));
		style_wrap(out, buf_str(&text), 0, v->width);
	}
	buf_done(&text);
}

/* How the steps were found, after their number. */
static const char *const found[] = {
	[OP_STEPS_ALL] = "without steps that are marked (prof.step()) or could be found",
	[OP_STEPS_MARKED] = "",
	[OP_STEPS_OPTIMIZER] = " (each to the end of a call of the optimizer)",
	[OP_STEPS_DATALOADER] = " (each from one batch of the DataLoader to the next)",
	[OP_STEPS_PERIOD] = " (found by operators that come again in the same order)",
};

static void print_how(const struct op_steps *steps, const struct ops_view *v, struct buf *out)
{
	char total[UNITS_TEXT], median[UNITS_TEXT], rate[UNITS_TEXT];
	struct buf text = BUF_INIT;

	units_format(total, UNIT_SECONDS, steps->seconds);
	if (steps->how == OP_STEPS_ALL)
		buf_printf(&text, "%s %s", total, found[steps->how]);
	else
		buf_printf(&text, "%zu steps%s in %s (%s steps/s), the median %s", steps->n,
			found[steps->how], total,
			units_format(rate, UNIT_RATIO, (double)steps->n / steps->seconds),
			units_format(median, UNIT_SECONDS, steps->median_s));
	buf_adds(&text, "; each moment counts for the first of these that ran:");
	style_wrap(out, buf_str(&text), 0, v->width);
	buf_done(&text);
}

void op_overview_print(const struct op_events *x, const struct op_steps *steps,
	const struct op_advice *advice, const struct ops_view *v, struct buf *out)
{
	style_add(out, STYLE_BOLD, v->colour, "Overview\n");
	print_how(steps, v, out);
	print_parts(steps, v, out);
	print_device(x, steps, out);
	print_advice(advice, steps, v, out);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The part that is furthest above its median, in a step that is longer than most; OP_N_PARTS: none. */
static unsigned grown(const struct op_steps *all, const struct op_step *s, double *ret_s)
{
	double length = (double)(s->end_ns - s->start_ns) / 1e9;
	unsigned most = OP_N_PARTS;

	*ret_s = 0;
	if (length < 1.2 * all->median_s)
		return OP_N_PARTS;
	for (unsigned i = 0; i < OP_N_PARTS; i++)
		if (s->parts_s[i] - all->median_parts_s[i] > *ret_s) {
			*ret_s = s->parts_s[i] - all->median_parts_s[i];
			most = i;
		}
	return most;
}

/* In narrow terminals only parts that are at least a hundredth of the steps. */
static bool shows_part(const struct op_steps *steps, unsigned part, const struct ops_view *v)
{
	return steps->parts_s[part] > (v->width < NARROW ? 0.01 * steps->seconds : 0);
}

static struct table *steps_table(const struct op_steps *steps, const struct ops_view *v)
{
	struct table_column columns[OP_N_PARTS + 3] = { { .title = "step" },
		{ .title = "time", .align = TABLE_RIGHT } };
	size_t n = 2;

	for (unsigned i = 0; i < OP_N_PARTS; i++)
		if (shows_part(steps, i, v))
			columns[n++] = (struct table_column){ .title = op_part_names[i],
				.align = TABLE_RIGHT };
	columns[n++] = (struct table_column){ .title = "slower by", .cut = TEXT_CUT_END };
	return table_new(columns, n);
}

void op_steps_print(const struct op_steps *steps, const struct ops_view *v, struct buf *out)
{
	struct table *table = steps_table(steps, v);
	char median[UNITS_TEXT], p99[UNITS_TEXT], max[UNITS_TEXT], more[UNITS_TEXT];

	style_add(out, STYLE_BOLD, v->colour, "Steps");
	buf_printf(out, "%s\n", steps->how == OP_STEPS_ALL ? "" : found[steps->how]);
	for (size_t i = 0; i < steps->n && i < v->limit; i++) {
		const struct op_step *s = &steps->v[i];
		double above;
		unsigned part = grown(steps, s, &above);

		table_cell(table, "%s", s->name);
		table_cell_unit(table, UNIT_SECONDS, (double)(s->end_ns - s->start_ns) / 1e9);
		for (unsigned k = 0; k < OP_N_PARTS; k++)
			if (shows_part(steps, k, v))
				table_cell_unit(table, UNIT_SECONDS, s->parts_s[k]);
		if (part == OP_N_PARTS)
			table_cell(table, "%s", "");
		else
			table_cell(table, "%s %s", op_part_names[part],
				units_format(more, UNIT_SECONDS, above));
	}
	table_emit(table, out, v->width, v->colour);
	table_free(table);
	if (steps->n > v->limit)
		style_add(out, STYLE_DIM, v->colour, "%zu more; --limit 0 shows all\n",
			steps->n - v->limit);
	buf_printf(out, "median %s, p99 %s, longest %s\n",
		units_format(median, UNIT_SECONDS, steps->median_s),
		units_format(p99, UNIT_SECONDS, steps->p99_s),
		units_format(max, UNIT_SECONDS, steps->max_s));
}
