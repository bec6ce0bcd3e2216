/* SPDX-License-Identifier: MIT
 * See exact_counts.h. */
#include "view/calls/exact_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact_lines.h"
#include "analyze/calls/opcode_counts.h"
#include "analyze/code/source_texts.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

/* ---- lines ----------------------------------------------------------------------------------- */

struct line {
	const struct exact_lines_function *f;
	const struct exact_line *line;
};

static int by_hits(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->line->hits != y->line->hits)
		return x->line->hits < y->line->hits ? 1 : -1;
	return x->line->line < y->line->line ? -1 : x->line->line > y->line->line;
}

static void add_source(struct table *t, const struct source_texts *texts, const struct line *l)
{
	struct text_line text = texts ? source_texts_line(texts, l->f->file, (int)l->line->line)
				      : (struct text_line){ 0 };
	struct buf safe = BUF_INIT;

	while (text.n && (*text.p == ' ' || *text.p == '\t')) {
		text.p++;
		text.n--;
	}
	text_add_printable(&safe, text.p, text.n);
	table_cell(t, "%s", buf_str(&safe));
	buf_done(&safe);
}

void exact_counts_print_lines(const struct exact_lines *l, const struct source_texts *texts,
	const struct profile_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "hits", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "line", TABLE_LEFT, TEXT_CUT_MIDDLE, 18 },
		{ "source", TABLE_LEFT, TEXT_CUT_END, 16 },
	};
	struct table *t = table_new(columns, 3);
	VEC(struct line) all = VEC_INIT;
	uint64_t hits = 0;
	size_t n;

	for (size_t i = 0; i < l->n_functions; i++)
		for (size_t k = 0; k < l->functions[i].n_lines; k++) {
			vec_push(
				&all, (struct line){ &l->functions[i], &l->functions[i].lines[k] });
			hits += l->functions[i].lines[k].hits;
		}
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_hits);
	n = profile_rows(v, all.n);
	for (size_t i = 0; i < n; i++) {
		table_cell(t, "%" PRIu64, all.v[i].line->hits);
		table_cell(t, "%s:%u", profile_path(v, all.v[i].f->file), all.v[i].line->line);
		add_source(t, texts, &all.v[i]);
	}
	buf_addc(out, '\n');
	style_add(out, STYLE_BOLD, v->colour, "%" PRIu64 " lines run", hits);
	buf_adds(out, ", counted without a clock\n\n");
	table_emit(t, out, v->width, v->colour);
	profile_more(v, n, all.n, out);
	table_free(t);
	vec_done(&all);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static const char *way(const struct opcode_counts *c)
{
	if (c->has_derived && c->has_each)
		return "by basic blocks and exceptions where the interpreter allows it, otherwise one by one";
	return c->has_derived ? "by basic blocks and exceptions, from which the rest follows"
			      : "one by one";
}

void exact_counts_print_opcodes(
	const struct opcode_counts *c, const struct profile_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "instructions", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "share", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "filename:lineno(function)", TABLE_LEFT, TEXT_CUT_MIDDLE, 18 },
	};
	struct table *t = table_new(columns, 3);
	size_t n = profile_rows(v, c->n_functions);

	for (size_t i = 0; i < n; i++) {
		const struct opcode_function *f = &c->functions[i];

		table_cell(t, "%" PRIu64, f->executed);
		table_cell_unit(
			t, UNIT_SHARE, c->executed ? (double)f->executed / (double)c->executed : 0);
		table_cell(t, "%s:%u(%s)", profile_path(v, f->file), f->first_line, f->name);
	}
	buf_addc(out, '\n');
	style_add(out, STYLE_BOLD, v->colour, "%" PRIu64 " instructions run", c->executed);
	buf_printf(out, ", counted %s\n\n", way(c));
	table_emit(t, out, v->width, v->colour);
	profile_more(v, n, c->n_functions, out);
	if (v->legend)
		style_add(out, STYLE_DIM, v->colour,
			"report --bytecode FUNCTION shows how often each ran.\n");
	table_free(t);
}
