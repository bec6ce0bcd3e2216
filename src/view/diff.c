/* SPDX-License-Identifier: MIT
 * See diff.h. */
#include "view/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

enum { NARROW = 76 };

/* ---- figures --------------------------------------------------------------------------------- */

const char *diff_change_text(char out[UNITS_TEXT], enum unit unit, double change)
{
	char text[UNITS_TEXT];

	snprintf(out, UNITS_TEXT, "%s%.24s", change < 0 ? "−" : "+",
		units_format(text, unit, fabs(change)));
	return out;
}

const char *diff_ratio_text(char out[UNITS_TEXT], double a, double b)
{
	if (!(a > 0))
		return b > 0 ? "new" : "–";
	if (!(b > 0))
		return "gone";
	if (b / a >= 10)
		snprintf(out, UNITS_TEXT, "×%.0f", b / a);
	else
		snprintf(out, UNITS_TEXT, "%s%.1f %%", b < a ? "−" : "+", fabs(b - a) / a * 100);
	return out;
}

static const struct diff_value *first_of(const struct diff *d, const struct diff_row *r)
{
	return d->by_total ? &r->total : &r->self;
}

static const struct diff_value *second_of(const struct diff *d, const struct diff_row *r)
{
	return d->by_total ? &r->self : &r->total;
}

static const char *mark(const struct diff_value *v)
{
	return !v->is_named ? " " : v->change > 0 ? "▲" : "▼";
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct columns {
	const char *title;        /* of the page */
	const char *what, *where; /* of the last two columns; where NULL: there is one */
	const char *words;        /* "function": of what is not shown */
	bool is_wide, has_calls;
};

static struct table *new_table(const struct diff *d, const struct columns *c)
{
	const char *const figures[] = { "", d->by_total ? "total" : "self", "±", "by", "A", "B",
		d->by_total ? "self" : "total" };
	struct table_column columns[10];
	size_t n = 0;

	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		if (c->is_wide || i != 2)
			columns[n++] =
				(struct table_column){ figures[i], TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (c->has_calls)
		columns[n++] = (struct table_column){ "calls", TABLE_RIGHT, TEXT_CUT_END, 0 };
	columns[n++] = (struct table_column){ c->what, TABLE_LEFT,
		c->where ? TEXT_CUT_MIDDLE : TEXT_CUT_START, 10 };
	if (c->where)
		columns[n++] = (struct table_column){ c->where, TABLE_LEFT, TEXT_CUT_START, 10 };
	return table_new(columns, n);
}

static void cell_calls(struct table *t, const struct diff_row *r)
{
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (r->calls_a == r->calls_b)
		table_cell(t, "%s", units_format(a, UNIT_COUNT, r->calls_a));
	else
		table_cell(t, "%s → %s", units_format(a, UNIT_COUNT, r->calls_a),
			units_format(b, UNIT_COUNT, r->calls_b));
}

static void add_figures(
	struct table *t, const struct diff *d, const struct diff_row *r, const struct columns *c)
{
	const struct diff_value *first = first_of(d, r), *second = second_of(d, r);
	char text[UNITS_TEXT];

	table_cell(t, "%s", mark(first));
	table_cell(t, "%s", diff_change_text(text, d->unit, first->change));
	if (c->is_wide)
		table_cell(t, "±%s", units_format(text, d->unit, first->plus_minus));
	table_cell(t, "%s", diff_ratio_text(text, first->a, first->b));
	table_cell_unit(t, d->unit, first->a);
	table_cell_unit(t, d->unit, first->b);
	if (second->is_named)
		table_cell(t, "%s", diff_change_text(text, d->unit, second->change));
	else
		table_cell(t, "·");
	if (c->has_calls)
		cell_calls(t, r);
}

static void add_names(struct table *t, const struct diff_row *r, const struct columns *c,
	const struct profile_view *v)
{
	struct buf path = BUF_INIT;

	if (!c->where) {
		diff_add_path(&path, r);
		table_cell(t, "%s", buf_str(&path));
	} else {
		table_cell(t, "%s", *r->text ? r->text : r->name);
		profile_cell_place(t, v, r->file, r->line);
	}
	buf_done(&path);
}

static void print_rest(const struct diff *d, const struct diff_table *t, size_t shown, double rest,
	const struct columns *c, const struct diff_view *v, struct buf *out)
{
	char text[UNITS_TEXT];
	size_t n = t->n - shown;

	if (n)
		style_add(out, STYLE_DIM, v->page->colour, "%s%zu %s%s%s, self%s together %s%s\n",
			shown ? "… and " : "", n, shown ? "other " : "", c->words,
			n == 1 ? "" : "s", d->unit == UNIT_BYTES ? "" : " time",
			diff_change_text(text, d->unit, rest),
			!v->all && shown == t->n_named ? ": within the noise" : "");
}

static void print_table(const struct diff *d, const struct diff_table *t, struct columns c,
	const struct diff_view *v, struct buf *out)
{
	struct table *table;
	double rest = 0;
	size_t shown = 0, most;

	for (size_t i = 0; i < t->n; i++)
		c.has_calls |= t->v[i]->calls_a > 0 || t->v[i]->calls_b > 0;
	c.is_wide = v->page->width >= NARROW;
	table = new_table(d, &c);
	most = profile_rows(v->page, v->all ? t->n : t->n_named);
	for (size_t i = 0; i < t->n; i++) {
		const struct diff_row *r = t->v[i];

		if (shown == most || !(v->all || r->is_named)) {
			rest += r->self.change;
			continue;
		}
		add_figures(table, d, r, &c);
		add_names(table, r, &c, v->page);
		shown++;
	}
	profile_title(v->page, c.title, out);
	if (shown)
		table_emit(table, out, v->page->width, v->page->colour);
	else
		buf_printf(out, "No change stands out from the noise.\n");
	print_rest(d, t, shown, rest, &c, v, out);
	table_free(table);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void print_side(
	const char *letter, const struct diff_name *n, const struct diff_view *v, struct buf *out)
{
	char wall[UNITS_TEXT];
	struct buf text = BUF_INIT;

	style_add(out, STYLE_BOLD, v->page->colour, "%s  ", letter);
	text_add_printable(&text, n->file, strlen(n->file));
	buf_printf(&text, "  %s", n->made);
	if (units_is_known(n->wall_s))
		buf_printf(&text, "  wall %s", units_format(wall, UNIT_SECONDS, n->wall_s));
	buf_adds(&text, *n->command ? "  " : "");
	text_add_printable(&text, n->command, strlen(n->command));
	text_add_cut(out, buf_str(&text), v->page->width - 3, TEXT_CUT_MIDDLE);
	buf_addc(out, '\n');
	buf_done(&text);
}

static void print_total(const struct diff *d, const struct diff_view *v, struct buf *out)
{
	char a[UNITS_TEXT], b[UNITS_TEXT], change[UNITS_TEXT], ratio[UNITS_TEXT];
	double percent = d->total.a > 0 ? d->total.plus_minus / d->total.a * 100 : 0;

	if (d->unit == UNIT_SHARE) {
		buf_printf(out, "Comparing shares of each recording's own total.\n");
		return;
	}
	style_add(out, STYLE_ACCENT, v->page->colour, "total %s → %s: %s, %s ±%.1f",
		units_format(a, d->unit, d->total.a), units_format(b, d->unit, d->total.b),
		diff_change_text(change, d->unit, d->total.change),
		diff_ratio_text(ratio, d->total.a, d->total.b), percent);
	buf_printf(out, "%s%s%s\n", d->total.is_named ? "" : " (within the noise)",
		*v->normalized ? ", " : "", v->normalized);
}

static void print_legend(const struct diff *d, const struct diff_view *v, struct buf *out)
{
	char noise[UNITS_TEXT];
	struct buf text = BUF_INIT;
	bool is_time = d->unit != UNIT_BYTES; /* bytes differ by no machine's doing */

	buf_printf(&text,
		"self: change in self%s from A to B; total: including what it calls; ·: within "
		"the noise; ±: 95 %% interval, from %s",
		is_time ? " time" : "",
		d->is_timed ? "samples by blocks of time" : "the number of samples");
	if (is_time)
		buf_printf(&text, " and the %s by which runs differ anyway (--noise)",
			units_format(noise, UNIT_SHARE, v->noise));
	buf_adds(&text,
		". ▲ ▼ stand out: by chance, 1 in 100 comparisons of equal programs shows any.");
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, v->page->colour);
	style_wrap(out, buf_str(&text), 0, v->page->width);
	style_end(out, STYLE_DIM, v->page->colour);
	buf_done(&text);
}

void diff_print(const struct diff *d, const struct diff_view *v, struct buf *out)
{
	print_side("A", &v->a, v, out);
	print_side("B", &v->b, v, out);
	print_total(d, v, out);
	if (v->functions)
		print_table(d, &d->functions,
			(struct columns){ .title = "Functions",
				.what = "function",
				.where = "where",
				.words = "function" },
			v, out);
	if (v->lines)
		print_table(d, &d->lines,
			(struct columns){ .title = "Lines",
				.what = "source",
				.where = "line",
				.words = "line" },
			v, out);
	if (v->paths)
		print_table(d, &d->paths,
			(struct columns){ .title = "Paths", .what = "path", .words = "path" }, v,
			out);
	if (v->page->legend)
		print_legend(d, v, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
