/* SPDX-License-Identifier: MIT
 *
 * See exact.h: lines. A function is shown from its first line to its last: what is indented further than
 * its head, as far as the text of the file is there; else only the lines that ran. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact_lines.h"
#include "analyze/code/source_texts.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/calls/exact.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

enum { TAB = 4 };

/* ---- the text of a function ------------------------------------------------------------------ */

/* Functions may claim the same text again and again, and lines that are billions apart: so much is shown of what lies
 * around the lines that were counted, and then those alone. */
enum { AROUND_BYTES = 64 << 20, AROUND_LINE = 64 };

struct block {
	const struct exact_lines_function *f;
	const struct source_texts *texts; /* NULL: none */
	size_t *around;                   /* bytes that may still be shown */
	uint32_t first, last;
	bool has_text, has_own, has_callees;
	bool has_all_callees; /* exact_lines.h */
};

/* Columns before the first character; −1 for lines that say nothing. */
static int indent_of(struct text_line line)
{
	int column = 0;

	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '\t')
			column += TAB - column % TAB;
		else if (line.p[i] == ' ')
			column++;
		else
			return line.p[i] == '#' || line.p[i] == '\r' ? -1 : column;
	}
	return -1;
}

static char first_char(struct text_line line)
{
	size_t i = 0;

	while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
		i++;
	return i < line.n ? line.p[i] : '\0';
}

/* A function ends where a line stands as far left as its head does; decorators and the closing bracket of
 * its head do not count. */
static uint32_t last_line(const struct block *b)
{
	uint32_t n = (uint32_t)source_texts_n_lines(b->texts, b->f->file), last = b->f->last_line;
	int head = indent_of(source_texts_line(b->texts, b->f->file, (int)b->first));
	bool is_in_head = true;

	for (uint32_t i = b->first; i <= n && *b->around; i++) {
		struct text_line line = source_texts_line(b->texts, b->f->file, (int)i);
		int indent = indent_of(line);

		--*b->around; /* a look costs, too */
		if (indent < 0)
			continue;
		if (!is_in_head && indent <= head && !strchr(")]}", first_char(line)) &&
			i > b->f->last_line)
			break;
		if (first_char(line) != '@')
			is_in_head = false;
		last = i > last ? i : last;
	}
	return last;
}

static struct block block_of(
	const struct exact_lines_function *f, const struct source_texts *texts, size_t *around)
{
	struct block b = { .f = f,
		.texts = texts,
		.around = around,
		.first = f->first_line,
		.last = f->last_line };

	if (f->n_lines && (!b.first || f->lines[0].line < b.first))
		b.first = f->lines[0].line;
	b.has_text = texts && source_texts_line(texts, f->file, (int)b.first).p;
	if (b.has_text && strcmp(f->name, "<module>") != 0)
		b.last = last_line(&b);
	return b;
}

static bool take_around(const struct block *b, size_t n)
{
	if (*b->around < n)
		*b->around = 0;
	else
		*b->around -= n;
	return *b->around > 0;
}

/* The text of a line that is shown, as long as there may be more of it. */
static struct text_line text_of(const struct block *b, uint32_t line)
{
	struct text_line text = { 0 };

	if (b->has_text && line <= INT32_MAX)
		text = source_texts_line(b->texts, b->f->file, (int)line);
	return take_around(b, text.n) ? text : (struct text_line){ 0 };
}

/* The lines of a block one after the other: those that were counted, and what lies between them. */
struct walk {
	const struct block *b;
	bool has_blanks; /* lines without a text are shown, too */
	uint64_t next;
	size_t at; /* in the function's lines, which are in order */
	uint32_t number;
	const struct exact_line *line; /* NULL: it was not counted */
};

static struct walk walk_begin(const struct block *b, bool has_blanks)
{
	return (struct walk){ .b = b, .has_blanks = has_blanks, .next = b->first };
}

static bool is_shown(const struct walk *w)
{
	if (!w->has_blanks && !w->b->has_text)
		return false;
	return take_around(w->b, AROUND_LINE);
}

static bool walk_next(struct walk *w)
{
	const struct exact_lines_function *f = w->b->f;

	while (w->at < f->n_lines && f->lines[w->at].line < w->next)
		w->at++;
	if (w->next > w->b->last)
		return false;
	w->line = w->at < f->n_lines && f->lines[w->at].line == w->next ? &f->lines[w->at] : NULL;
	if (!w->line && !is_shown(w)) { /* on to the next that was counted */
		if (w->at == f->n_lines)
			return false;
		w->line = &f->lines[w->at];
		w->next = w->line->line;
	}
	w->number = (uint32_t)w->next++;
	return true;
}

static void add_source(struct buf *out, struct text_line line)
{
	size_t column = 0;

	for (size_t i = 0; i < line.n && (line.p[i] == '\t' || line.p[i] == ' '); i++)
		column += line.p[i] == '\t' ? TAB - column % TAB : 1;
	buf_fill(out, ' ', column);
	while (line.n && (*line.p == '\t' || *line.p == ' ')) {
		line.p++;
		line.n--;
	}
	while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
		line.n--;
	text_add_printable(out, line.p, line.n);
}

/* ---- our page -------------------------------------------------------------------------------- */

static void add_seconds(struct table *t, double seconds)
{
	char text[UNITS_TEXT];

	table_cell(t, "%s", units_format(text, UNIT_SECONDS, seconds));
}

static void add_line(
	struct table *t, const struct block *b, uint32_t number, const struct exact_line *l)
{
	struct buf text = BUF_INIT;

	table_cell(t, "%u", number);
	if (l) {
		table_cell(t, "%" PRIu64, l->hits);
		add_seconds(t, l->total_s);
		if (b->has_callees) {
			add_seconds(t, l->own_s);
			add_seconds(t, l->callees_s);
		}
		if (l->hits)
			add_seconds(t, l->total_s / (double)l->hits);
		else
			table_cell(t, "%s", "");
		if (b->has_own)
			add_seconds(t, l->max_s);
		table_cell(t, "%.1f", b->f->total_s > 0 ? 100 * l->total_s / b->f->total_s : 0);
	}
	for (size_t i = 0; !l && i < 4u + b->has_own + 2u * b->has_callees; i++)
		table_cell(t, "%s", "");
	if (b->has_text)
		add_source(&text, text_of(b, number));
	table_cell(t, "%s", buf_str(&text));
	buf_done(&text);
}

static void print_head(
	const struct exact_lines_function *f, const struct profile_view *v, struct buf *out)
{
	char time[UNITS_TEXT];
	struct buf name = BUF_INIT;

	text_add_printable(&name, f->name, strlen(f->name));
	buf_addc(&name, ' ');
	text_add_printable(&name, profile_path(v, f->file), strlen(profile_path(v, f->file)));
	buf_addc(out, '\n');
	style_add(out, STYLE_BOLD, v->colour, "%s:%u", buf_str(&name), f->first_line);
	buf_printf(out, "  %s", units_format(time, UNIT_SECONDS, f->total_s));
	if (f->calls)
		buf_printf(out, " in %" PRIu64 " %s", f->calls, f->calls == 1 ? "call" : "calls");
	buf_addc(out, '\n');
	buf_done(&name);
}

/* Own time says something where counted functions were called; the longest hit is known where that is. */
static struct table *new_table(const struct block *b)
{
	const struct {
		const char *title;
		bool is_shown;
	} numbers[] = { { "line", true }, { "hits", true }, { "time", true },
		{ b->has_all_callees ? "own" : "own*", b->has_callees },
		{ b->has_all_callees ? "in callees" : "in counted", b->has_callees },
		{ "per hit", true }, { "max", b->has_own }, { "%", true } };
	struct table_column columns[9];
	size_t n = 0;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (numbers[i].is_shown)
			columns[n++] = (struct table_column){ numbers[i].title, TABLE_RIGHT,
				TEXT_CUT_END, 0 };
	columns[n++] = (struct table_column){ "source", TABLE_LEFT, TEXT_CUT_END, 16 };
	return table_new(columns, n);
}

/* Returns whether its table has own times. */
static bool print_function(const struct exact_lines *l, const struct block *of,
	const struct profile_view *v, struct buf *out)
{
	const struct exact_lines_function *f = of->f;
	const struct source_texts *texts = of->texts;
	struct block b = *of;
	struct walk w = walk_begin(&b, false);
	struct table *t;

	b.has_own = l->has_own;
	b.has_all_callees = l->has_all_callees;
	for (size_t i = 0; i < f->n_lines; i++)
		b.has_callees |= f->lines[i].callees_s > 0;
	t = new_table(&b);
	while (walk_next(&w))
		add_line(t, &b, w.number, w.line);
	print_head(f, v, out);
	table_emit(t, out, v->width, v->colour);
	if (!b.has_text && texts && *source_texts_note(texts, f->file))
		style_add(out, STYLE_DIM, v->colour, "Without source: %s.\n",
			source_texts_note(texts, f->file));
	table_free(t);
	return b.has_callees;
}

static void print_dim(const char *text, const struct profile_view *v, struct buf *out)
{
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, text, 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
}

void exact_print_lines(const struct exact_lines *l, const struct source_texts *t,
	const struct profile_view *v, struct buf *out)
{
	size_t around = AROUND_BYTES;
	bool has_own = false;
	char text[300];

	for (size_t i = 0; i < l->n_functions; i++) {
		struct block b = block_of(&l->functions[i], t, &around);

		has_own |= print_function(l, &b, v, out);
	}
	buf_addc(out, '\n');
	if (!around)
		print_dim("The source is too long to show all of these functions in it.", v, out);
	if (v->legend) {
		snprintf(text, sizeof text,
			"time: from the start of a line to the start of the next%s; %%: share of the function's time. %s",
			!has_own ? ", including what it calls"
				: l->has_all_callees
				? "; own: excluding what it calls"
				: "; own: excluding the counted functions it calls",
			l->is_incomplete ? "Some hits were not counted."
					 : "Every hit was counted.");
		print_dim(text, v, out);
	}
	/* Also without a legend: the numbers mean another thing. */
	if (has_own && *exact_lines_note(l)) {
		snprintf(text, sizeof text, "* %s.", exact_lines_note(l));
		print_dim(text, v, out);
	}
}

/* ---- line_profiler's page -------------------------------------------------------------------- */

enum { LINE = 6, HITS = 9, TIME = 12, PER_HIT = 8, PERCENT = 8, CELL = 40 };

/* Tabs stay what they are, as that tool has it. */
static void add_as_it_stands(struct buf *out, struct text_line line)
{
	for (size_t i = 0; i < line.n;) {
		size_t n = 0;

		while (i + n < line.n && line.p[i + n] != '\t')
			n++;
		text_add_printable(out, line.p + i, n);
		if (i + n < line.n)
			buf_addc(out, '\t');
		i += n + 1;
	}
}

struct cells {
	char hits[CELL], time[CELL], per_hit[CELL], percent[CELL];
};

/* With one decimal, or three digits where that does not fit. */
static void format_time(char to[CELL], double value, size_t width)
{
	if ((size_t)snprintf(to, CELL, "%5.1f", value) > width)
		snprintf(to, CELL, "%5.3g", value);
}

static struct cells cells_of(const struct exact_line *l, double all_s, double unit_s)
{
	struct cells c = { "", "", "", "" };

	if (!l || !l->hits)
		return c;
	if (snprintf(c.hits, CELL, "%" PRIu64, l->hits) > HITS)
		snprintf(c.hits, CELL, "%g", (double)l->hits);
	format_time(c.time, l->total_s / unit_s, TIME);
	format_time(c.per_hit, l->total_s / unit_s / (double)l->hits, PER_HIT);
	if (all_s > 0)
		snprintf(c.percent, CELL, "%5.1f", 100 * l->total_s / all_s);
	return c;
}

static void print_line_profiler_function(const struct exact_lines_function *f,
	const struct source_texts *texts, double unit_s, size_t *around, struct buf *out)
{
	struct block b = block_of(f, texts, around);
	struct walk w = walk_begin(&b, true);
	double all_s = 0;

	for (size_t i = 0; i < f->n_lines; i++)
		all_s += f->lines[i].total_s;
	/* Whole nanoseconds, multiplied: with six digits it shows where a sum of fractions ends in 4999…. */
	all_s = round(all_s * 1e9) * 1e-9;
	buf_printf(out, "Total time: %g s\nFile: ", all_s);
	text_add_printable(out, f->file, strlen(f->file));
	buf_adds(out, "\nFunction: ");
	text_add_printable(out, f->name, strlen(f->name));
	buf_printf(out, " at line %u\n\n%*s %*s %*s %*s %*s  Line Contents\n", f->first_line, LINE,
		"Line #", HITS, "Hits", TIME, "Time", PER_HIT, "Per Hit", PERCENT, "% Time");
	buf_fill(
		out, '=', LINE + HITS + TIME + PER_HIT + PERCENT + 4 + 2 + strlen("Line Contents"));
	buf_addc(out, '\n');
	while (walk_next(&w)) {
		struct cells c = cells_of(w.line, all_s, unit_s);

		buf_printf(out, "%*u %*s %*s %*s %*s  ", LINE, w.number, HITS, c.hits, TIME, c.time,
			PER_HIT, c.per_hit, PERCENT, c.percent);
		add_as_it_stands(out, text_of(&b, w.number));
		buf_addc(out, '\n');
	}
	buf_addc(out, '\n');
}

void exact_print_line_profiler(
	const struct exact_lines *l, const struct source_texts *t, double unit_s, struct buf *out)
{
	size_t around = AROUND_BYTES;

	buf_printf(out, "Timer unit: %g s\n\n", unit_s);
	for (size_t i = 0; i < l->n_functions; i++)
		print_line_profiler_function(&l->functions[i], t, unit_s, &around, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
