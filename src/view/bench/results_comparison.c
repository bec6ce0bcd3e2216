/* SPDX-License-Identifier: MIT
 * See results_comparison.h. */
#include "view/bench/results_comparison.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/bench/verdict.h"
#include "view/kit/style.h"
#include "base/banned.h"

static void add_side(const char *letter, double seconds, const char *file, struct buf *out)
{
	char t[UNITS_TEXT];

	buf_printf(out, "  %s  %s  ", letter, units_format(t, UNIT_SECONDS, seconds));
	text_add_printable(out, file, strlen(file));
	buf_addc(out, '\n');
}

static void add_one(const struct results_comparison_view *v, struct buf *out)
{
	const struct unpaired *u = &v->r.rows[0].u;

	text_add_printable(out, v->r.rows[0].name, strlen(v->r.rows[0].name));
	buf_adds(out, ": ");
	verdict_add_headline(&(struct verdict_headline){ .word = u->word,
				     .ratio = u->ratio,
				     .equivalence = v->equivalence,
				     .why_undecided = unpaired_why_undecided(u),
				     .colour = v->colour },
		out);
	add_side("A", u->a_s, v->r.a, out);
	add_side("B", u->b_s, v->r.b, out);
	buf_printf(out, "  B/A %.4f, 95 %% between %.4f and %.4f; %zu and %zu %s", u->ratio,
		u->interval.low, u->interval.high, u->n_a, u->n_b,
		u->block                     ? "steps"
			: u->is_of_processes ? "processes"
					     : "groups of values");
	if (u->block)
		buf_printf(out, ", drawn in blocks of %zu", u->block);
	buf_addc(out, '\n');
	if (!u->block && !u->is_of_processes)
		buf_adds(out,
			"  one side is a single process, so the interval does not cover differences between processes\n");
}

static void add_rows(const struct results_comparison_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = "A", .align = TABLE_RIGHT },
		{ .title = "B", .align = TABLE_RIGHT },
		{ .title = "B/A", .align = TABLE_RIGHT },
		{ .title = "95 % between", .align = TABLE_RIGHT },
		{ .title = "B is", .align = TABLE_LEFT },
		{ .title = "what", .cut = TEXT_CUT_END, .min_width = 16 },
	};
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = 0; i < v->r.n; i++) {
		const struct unpaired *u = &v->r.rows[i].u;

		table_cell_unit(t, UNIT_SECONDS, u->a_s);
		table_cell_unit(t, UNIT_SECONDS, u->b_s);
		table_cell(t, "%.3f", u->ratio);
		table_cell(t, "%.3f – %.3f", u->interval.low, u->interval.high);
		table_cell(t, "%s", verdict_words[u->word]);
		table_cell(t, "%s", v->r.rows[i].name);
	}
	table_emit(t, out, v->width, v->colour);
	table_free(t);
	text_add_line(out, "  A %s, B %s", v->r.a, v->r.b);
}

static void add_differences(const struct results_comparison_view *v, struct buf *out)
{
	if (v->r.n_differences) {
		style_begin(out, STYLE_WARNING, v->colour);
		buf_adds(out, "  A and B were measured under different conditions:\n");
		for (size_t i = 0; i < v->r.n_differences; i++) {
			buf_printf(out, "    %s: ", v->r.differences[i].what);
			text_add_printable(
				out, v->r.differences[i].a, strlen(v->r.differences[i].a));
			buf_adds(out, " against ");
			text_add_printable(
				out, v->r.differences[i].b, strlen(v->r.differences[i].b));
			buf_addc(out, '\n');
		}
		style_end(out, STYLE_WARNING, v->colour);
		if (v->r.n && v->r.rows[0].u.is_unlike)
			buf_adds(out,
				"  so the code may be unchanged, whatever the figures say; --force judges anyway\n");
	}
	if (v->r.n_only_a || v->r.n_only_b)
		buf_printf(out, "  left out: %zu that only A has, %zu that only B has\n",
			v->r.n_only_a, v->r.n_only_b);
	buf_adds(out,
		"  (measured one after the other, without a control: running both in one leadline compare is more reliable)\n");
}

void results_comparison_print(const struct results_comparison_view *v, struct buf *out)
{
	if (v->r.n == 1)
		add_one(v, out);
	else
		add_rows(v, out);
	add_differences(v, out);
}

void results_comparison_print_markdown(const struct results_comparison_view *v, struct buf *out)
{
	char t[UNITS_TEXT];

	buf_adds(out, "| what | A | B | B/A | 95 % | B is |\n|:---|---:|---:|---:|:---:|:---|\n");
	for (size_t i = 0; i < v->r.n; i++) {
		const struct unpaired *u = &v->r.rows[i].u;

		buf_adds(out, "| `");
		text_add_printable(out, v->r.rows[i].name, strlen(v->r.rows[i].name));
		buf_printf(out, "` | %s", units_format(t, UNIT_SECONDS, u->a_s));
		buf_printf(out, " | %s | %.3f | %.3f – %.3f | **%s** |\n",
			units_format(t, UNIT_SECONDS, u->b_s), u->ratio, u->interval.low,
			u->interval.high, verdict_words[u->word]);
	}
	for (size_t i = 0; i < v->r.n_differences; i++) {
		buf_addc(out, '\n');
		text_add_line(out, "%s: %s against %s", v->r.differences[i].what,
			v->r.differences[i].a, v->r.differences[i].b);
	}
}
