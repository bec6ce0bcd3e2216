/* SPDX-License-Identifier: MIT
 * See counts.h. */
#include "view/bench/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bench/counts.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/vec.h"
#include "view/kit/style.h"
#include "base/banned.h"

enum { ROWS = 20 };

/* A function on both sides. */
struct row {
	const struct bench_counts_function *f; /* of B where it is there, else of A */
	struct counted a, b;
};

typedef VEC(struct row) rows;

/* Equal names in files of equal names: old/x.py and new/x.py hold the same function. */
static bool is_same(const struct bench_counts_function *x, const struct bench_counts_function *y)
{
	const char *p = strrchr(x->file, '/'), *q = strrchr(y->file, '/');

	return strcmp(x->name, y->name) == 0 &&
		(strcmp(x->file, y->file) == 0 ||
			strcmp(p ? p + 1 : x->file, q ? q + 1 : y->file) == 0);
}

static int by_difference(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	double p = fabs(a->b.bytecodes - a->a.bytecodes) + fabs(a->b.calls - a->a.calls);
	double q = fabs(b->b.bytecodes - b->a.bytecodes) + fabs(b->b.calls - b->a.calls);

	return (p < q) - (p > q);
}

static void match(const struct bench_counts *a, const struct bench_counts *b, rows *to)
{
	bool *used = xcalloc(a->n + 1, sizeof *used);

	for (size_t i = 0; b && i < b->n; i++) {
		struct row r = { .f = &b->functions[i], .b = b->functions[i].n };

		for (size_t k = 0; k < a->n; k++)
			if (!used[k] && is_same(&a->functions[k], &b->functions[i])) {
				r.a = a->functions[k].n;
				used[k] = true;
				break;
			}
		vec_push(to, r);
	}
	for (size_t k = 0; k < a->n; k++)
		if (!used[k])
			vec_push(to, (struct row){ .f = &a->functions[k], .a = a->functions[k].n });
	free(used);
	if (to->n)
		qsort(to->v, to->n, sizeof *to->v, by_difference);
}

static void cell(struct table *t, double value, bool is_signed)
{
	value += 0.0; /* no minus before a zero */
	if (isnan(value))
		table_cell(t, "unknown");
	else if (value == floor(value))
		table_cell(t, is_signed ? "%+.0f" : "%.0f", value);
	else
		table_cell(t, is_signed ? "%+.2f" : "%.2f", value);
}

static void add_total(
	struct table *t, const struct bench_counts_view *v, const char *what, double a, double b)
{
	cell(t, a, false);
	if (v->b) {
		cell(t, b, false);
		cell(t, b - a, true);
	}
	table_cell(t, "%s", what);
}

static void add_totals(const struct bench_counts_view *v, struct buf *out)
{
	static const struct table_column one[] = { { .title = "count", .align = TABLE_RIGHT },
		{ .title = "of" } };
	static const struct table_column two[] = { { .title = "A", .align = TABLE_RIGHT },
		{ .title = "B", .align = TABLE_RIGHT }, { .title = "B − A", .align = TABLE_RIGHT },
		{ .title = "of" } };
	struct table *t = v->b ? table_new(two, 4) : table_new(one, 2);
	const struct bench_counts *a = v->a, *b = v->b ? v->b : v->a;
	struct buf by = BUF_INIT;

	buf_adds(&by, "CPU instructions");
	if (*a->instructions_by)
		buf_printf(&by, " (%s; about)", a->instructions_by);
	else
		buf_adds(&by, " (no CPU counter here; --count=instructions uses callgrind)");
	add_total(t, v, buf_str(&by), a->instructions, b->instructions);
	add_total(t, v, "bytecodes", a->all.bytecodes, b->all.bytecodes);
	add_total(t, v, "lines", a->all.lines, b->all.lines);
	add_total(t, v, "calls", a->all.calls, b->all.calls);
	add_total(t, v, "allocations", NAN, NAN);
	add_total(t, v, "system calls", NAN, NAN);
	table_emit(t, out, v->width, v->colour);
	table_free(t);
	buf_done(&by);
}

static void add_functions(const struct bench_counts_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ .title = "bytecodes", .align = TABLE_RIGHT },
		{ .title = "lines", .align = TABLE_RIGHT },
		{ .title = "calls", .align = TABLE_RIGHT },
		{ .title = "function", .cut = TEXT_CUT_END, .min_width = 12 },
		{ .title = "where", .cut = TEXT_CUT_START, .min_width = 12 },
	};
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);
	rows all = VEC_INIT;
	size_t shown = 0;

	match(v->a, v->b, &all);
	vec_each (&all, r) {
		double sign = v->b ? 1 : -1; /* one side alone is its own difference to nothing */
		double bytecodes = sign * (r->b.bytecodes - r->a.bytecodes);
		double lines = sign * (r->b.lines - r->a.lines),
		       calls = sign * (r->b.calls - r->a.calls);

		if ((bytecodes == 0 && lines == 0 && calls == 0) || shown++ >= ROWS)
			continue;
		cell(t, bytecodes, v->b);
		cell(t, lines, v->b);
		cell(t, calls, v->b);
		table_cell(t, "%s", r->f->name);
		if (*r->f->file)
			table_cell(t, "%s:%u", r->f->file, r->f->first_line);
		else
			table_cell(t, "%s", "");
	}
	buf_adds(out, v->b ? "\nWhat B does more than A, by function\n" : "\nBy function\n");
	if (shown)
		table_emit(t, out, v->width, v->colour);
	else
		buf_adds(out, "  no function differs\n");
	if (shown > ROWS)
		buf_printf(out, "  … %zu more\n", shown - ROWS);
	table_free(t);
	vec_done(&all);
}

static void add_name(const char *letter, const struct bench_counts *c, bool colour, struct buf *out)
{
	buf_adds(out, letter);
	style_begin(out, STYLE_ACCENT, colour);
	text_add_printable(out, c->name, strlen(c->name));
	style_end(out, STYLE_ACCENT, colour);
	buf_printf(out, "  (%s)\n", c->is_command ? "of a run" : "of one loop");
}

static void add_gate(const struct bench_counts_gate *g, bool colour, struct buf *out)
{
	style_add(out, g->outcome == BENCH_COUNTS_PASSED ? STYLE_BOLD : STYLE_WARNING, colour, "%s",
		bench_counts_gate_words[g->outcome]);
	if (g->outcome == BENCH_COUNTS_UNDECIDED)
		buf_printf(out, ": no %s were counted\n", g->what);
	else if (isinf(g->change))
		buf_printf(out, ": A has no %s, B has\n", g->what);
	else
		buf_printf(out, ": %s%.1f %% %s, up to %.*f %% more is allowed\n",
			g->change < 0 ? "−" : "+", fabs(100 * g->change), g->what,
			100 * g->limit == floor(100 * g->limit) ? 0 : 1, 100 * g->limit);
}

void bench_counts_print(const struct bench_counts_view *v, struct buf *out)
{
	add_name(v->b ? "A  " : "", v->a, v->colour, out);
	if (v->b)
		add_name("B  ", v->b, v->colour, out);
	if (v->gate)
		add_gate(v->gate, v->colour, out);
	add_totals(v, out);
	add_functions(v, out);
}
