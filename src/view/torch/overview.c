/* SPDX-License-Identifier: MIT
 * See overview.h. */
#include "view/torch/overview.h"

#include <inttypes.h>
#include <math.h>

#include "advise/advice.h"
#include "advise/finding.h"
#include "analyze/torch/events.h"
#include "analyze/torch/phases.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/work.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/finding.h"
#include "view/kit/style.h"
#include "view/torch/table.h"
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
		"   of step time, with a kernel, copy or fill running", out);
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
static size_t count_savings(const struct advice *advice)
{
	size_t n = 0;

	for (size_t i = 0; i < advice->n; i++)
		n += units_is_known(advice->v[i].saving.value) &&
			advice->v[i].saving.unit == UNIT_SECONDS;
	return n;
}

static void print_advice(const struct advice *advice, const struct op_steps *s,
	const struct ops_view *v, struct buf *out)
{
	char saving[UNITS_TEXT], share[UNITS_TEXT];
	struct buf text = BUF_INIT;

	if (!advice->n)
		return;
	style_add(out, STYLE_BOLD, v->colour, "\nWhat to change\n");
	findings_print(advice->v, advice->n, v->colour, v->width, out);
	if (count_savings(advice) > 1 && !units_is_known(advice->together_s)) {
		style_wrap(out, "Savings overlap and do not add up.", 0, v->width);
	} else if (count_savings(advice) > 1) {
		buf_printf(&text,
			"Savings overlap and do not add up: together at most %s (%s of the steps).",
			units_format(saving, UNIT_SECONDS, advice->together_s),
			units_format(share, UNIT_SHARE, advice->together_s / s->seconds));
		style_wrap(out, buf_str(&text), 0, v->width);
	}
	buf_done(&text);
}

/* How the steps were found, after their number. */
static const char *const found[] = {
	[OP_STEPS_ALL] = "without marked steps (prof.step()), and none could be found",
	[OP_STEPS_MARKED] = "",
	[OP_STEPS_OPTIMIZER] = " (each ends with a call of the optimizer)",
	[OP_STEPS_DATALOADER] = " (each from one batch of the DataLoader to the next)",
	[OP_STEPS_PERIOD] = " (found by operators that recur in the same order)",
	[OP_STEPS_TOLD] = " (marked by leadline.torch.step())",
};

static void add_found(const struct op_steps *steps, struct buf *out)
{
	if (steps->how == OP_STEPS_OPTIMIZER && steps->n_calls > 1)
		buf_printf(out, " (each ends with the last of %u optimizer calls)", steps->n_calls);
	else if (steps->how != OP_STEPS_ALL)
		buf_adds(out, found[steps->how]);
}

/* Whose steps, where others make some, too; and what one of them is made of. */
static void add_kind(const struct op_steps *steps, struct buf *out)
{
	if (steps->n_processes > 1)
		buf_printf(out,
			" These are the steps of process %" PRIu32
			", one of %u that make steps; --distributed compares all.",
			steps->pid, steps->n_processes);
	if (steps->n_micro > 1)
		buf_printf(out,
			" Each adds up the gradients of %u batches (gradient accumulation).",
			steps->n_micro);
}

static void add_steps(const struct op_steps *steps, const char *total, struct buf *out)
{
	char median[UNITS_TEXT], rate[UNITS_TEXT];

	buf_printf(out, "%zu step%s", steps->n, steps->n == 1 ? "" : "s");
	add_found(steps, out);
	buf_printf(out, " in %s", total);
	if (steps->n > 1)
		buf_printf(out, " (%s steps/s), the median %s",
			units_format(rate, UNIT_RATIO, (double)steps->n / steps->seconds),
			units_format(median, UNIT_SECONDS, steps->median_s));
}

static void print_how(const struct op_steps *steps, const struct ops_view *v, struct buf *out)
{
	char total[UNITS_TEXT];
	struct buf text = BUF_INIT, kind = BUF_INIT;

	units_format(total, UNIT_SECONDS, steps->seconds);
	if (steps->how == OP_STEPS_ALL)
		buf_printf(&text, "%s %s", total, found[steps->how]);
	else
		add_steps(steps, total, &text);
	add_kind(steps, &kind);
	buf_printf(&text, "%s%s", kind.n ? "." : "; each", buf_str(&kind));
	buf_printf(
		&text, "%s moment counts for the first of these that ran:", kind.n ? " Each" : "");
	style_wrap(out, buf_str(&text), 0, v->width);
	buf_done(&text);
	buf_done(&kind);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void add_phase_note(const struct op_phases *p, unsigned phase, struct buf *to)
{
	char each[UNITS_TEXT];

	if (phase == OP_PHASE_TRAINING)
		buf_printf(to, "%zu step%s", p->n_times[phase], p->n_times[phase] == 1 ? "" : "s");
	else if (phase == OP_PHASE_VALIDATION && p->n_passes)
		buf_printf(to, "%" PRIu64 " forward pass%s, %s each", p->n_passes,
			p->n_passes == 1 ? "" : "es",
			units_format(each, UNIT_SECONDS, p->seconds[phase] / (double)p->n_passes));
	else if (phase == OP_PHASE_SAVING && p->n_times[phase] > 1)
		buf_printf(to, "%zu times", p->n_times[phase]);
	else if (phase == OP_PHASE_UNSEEN)
		buf_adds(to, "torch's profiler was not on");
}

/* What the whole of the program's time went to; nothing where next to all of it is steps. */
static void print_phases(const struct op_phases *p, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = { { "", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "", TABLE_RIGHT, TEXT_CUT_END, 0 }, { "", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 } };
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	double all_s = 0;

	for (unsigned i = 0; i < OP_N_PHASES; i++)
		all_s += p->seconds[i];
	for (unsigned i = 0; i < OP_N_PHASES; i++) {
		struct buf note = BUF_INIT;

		if (!(p->seconds[i] > 0))
			continue;
		add_phase_note(p, i, &note);
		table_cell(table, "%s",
			i == OP_PHASE_TRAINING && !p->is_training ? "steps" : op_phase_names[i]);
		table_cell_unit(table, UNIT_SECONDS, p->seconds[i]);
		table_cell_unit(table, UNIT_SHARE, p->seconds[i] / all_s);
		table_cell(table, "%s", buf_str(&note));
		buf_done(&note);
	}
	if (p->seconds[OP_PHASE_TRAINING] < 0.9 * all_s) {
		style_add(out, STYLE_BOLD, v->colour, "\nPhases\n");
		table_emit(table, out, v->width, v->colour);
		style_add(out, STYLE_DIM, v->colour,
			"--phase %s counts only that part of a recording\n",
			p->is_training ? "training" : "steps");
	}
	table_free(table);
}

/* Steps are slower while they are looked at. */
static void print_cost(const struct op_events *x, const struct op_steps *steps,
	const struct ops_view *v, struct buf *out)
{
	double share = op_work_collecting(x, steps);
	char text[UNITS_TEXT], each[UNITS_TEXT];
	struct buf line = BUF_INIT;

	if (!isnan(share))
		buf_printf(&line,
			"Collecting operators took about %s of that, %s per call: without it, steps are that much shorter.",
			units_format(text, UNIT_SHARE, share),
			units_format(each, UNIT_SECONDS, (double)x->collected.cost_ns / 1e9));
	else if (!x->collected.is_asked && steps->how != OP_STEPS_ALL)
		buf_adds(&line, "A full trace slows the program: without it, steps are shorter.");
	if (line.n)
		style_wrap(out, buf_str(&line), 0, v->width);
	buf_done(&line);
}

void op_overview_print(const struct op_events *x, const struct op_steps *steps,
	const struct op_phases *phases, const struct advice *advice, const struct ops_view *v,
	struct buf *out)
{
	style_add(out, STYLE_BOLD, v->colour, "Overview\n");
	print_how(steps, v, out);
	print_parts(steps, v, out);
	print_cost(x, steps, v, out);
	print_device(x, steps, out);
	if (phases)
		print_phases(phases, v, out);
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
	add_found(steps, out);
	buf_addc(out, '\n');
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
