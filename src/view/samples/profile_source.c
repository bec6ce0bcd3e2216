/* SPDX-License-Identifier: MIT
 *
 * See profile.h: hot lines where they stand. The hottest lines are chosen, grouped by file, and shown with
 * CONTEXT lines around each and the line their function begins at; what lies between is folded. Every line
 * that is shown has its numbers, so nothing hot is hidden beside a hotter one. */
#include <stdlib.h>
#include <string.h>

#include "analyze/code/source_texts.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "view/kit/style.h"
#include "view/samples/probes.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

enum { CONTEXT = 2, BAR = 8, TAB = 4 };

struct file {
	const char *name;
	double self_s; /* of its chosen lines */
	size_t n_hot;
};

struct page {
	const struct profile *p;
	const struct source_texts *texts;
	const struct profile_view *v;
	struct buf *out;
	double most_s; /* self time of the hottest line: a full bar */
	VEC(struct file) files;
	struct map file_index;                  /* name → index */
	VEC(const struct profile_line *) lines; /* all, by file */
	/* chosen, of files whose text is there; then by file */
	VEC(const struct profile_line *) hot;
};

/* ---- what to show ---------------------------------------------------------------------------- */

static struct file *file_of(struct page *g, const char *name)
{
	uint64_t at;

	if (map_find(&g->file_index, (uintptr_t)name, &at))
		return &g->files.v[at];
	map_put(&g->file_index, (uintptr_t)name, g->files.n);
	vec_push(&g->files, (struct file){ .name = name });
	return &g->files.v[g->files.n - 1];
}

static void choose(struct page *g)
{
	for (size_t i = 0; i < g->p->n_lines && (!g->v->limit || g->hot.n < g->v->limit); i++) {
		const struct profile_line *l = &g->p->lines[i];
		struct file *f;

		if (!source_texts_line(g->texts, l->file, l->line).p)
			continue;
		f = file_of(g, l->file);
		f->self_s += l->cost.self_value;
		f->n_hot++;
		vec_push(&g->hot, l);
		if (l->cost.self_value > g->most_s)
			g->most_s = l->cost.self_value;
	}
}

static int by_self(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->self_s != y->self_s)
		return x->self_s < y->self_s ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* A file's name is one pointer; of lines of the same file the order stays. */
static int by_file(const void *a, const void *b)
{
	const struct profile_line *x = *(const struct profile_line *const *)a,
				  *y = *(const struct profile_line *const *)b;

	if (x->file != y->file)
		return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void sort_by_file(struct page *g)
{
	for (size_t i = 0; i < g->p->n_lines; i++)
		vec_push(&g->lines, &g->p->lines[i]);
	qsort(g->lines.v, g->lines.n, sizeof *g->lines.v, by_file);
	qsort(g->hot.v, g->hot.n, sizeof *g->hot.v, by_file);
}

/* Where the lines of a file begin among n that are sorted. */
static size_t first_of(const struct profile_line *const *v, size_t n, const char *file)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if ((uintptr_t)v[middle]->file < (uintptr_t)file)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Marks the lines of a file to be shown: 1 + its last line is the size of both arrays. */
static void mark(const struct page *g, const char *file, size_t n_lines, bool *shown,
	const struct profile_line **costs)
{
	for (size_t i = first_of(g->lines.v, g->lines.n, file);
		i < g->lines.n && g->lines.v[i]->file == file; i++) {
		const struct profile_line *l = g->lines.v[i];

		if (l->line > 0 && (size_t)l->line <= n_lines)
			costs[l->line] = l;
	}
	for (size_t i = first_of(g->hot.v, g->hot.n, file);
		i < g->hot.n && g->hot.v[i]->file == file; i++) {
		size_t line = (size_t)g->hot.v[i]->line, head = g->hot.v[i]->first_line;

		for (size_t k = line > CONTEXT ? line - CONTEXT : 1;
			k <= line + CONTEXT && k <= n_lines; k++)
			shown[k] = true;
		if (head >= 1 && head <= line)
			shown[head] = true;
	}
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_right(struct buf *out, const char *text, size_t width)
{
	size_t n = text_width(text);

	buf_fill(out, ' ', n < width ? width - n : 0);
	buf_adds(out, text);
}

static void add_share(const struct page *g, double seconds, size_t width)
{
	char text[UNITS_TEXT] = "";

	if (profile_share(g->p, seconds) >= 0.0005)
		units_format(text, UNIT_SHARE, profile_share(g->p, seconds));
	add_right(g->out, text, width);
}

static size_t digits(size_t n)
{
	size_t d = 1;

	while (n >= 10) {
		n /= 10;
		d++;
	}
	return d;
}

/* Foreign text with its tabs made blanks; returns the column a byte of the line stands at. */
static size_t add_text(struct buf *out, struct text_line line, int byte)
{
	size_t column = 0, at_byte = 0;
	struct buf piece = BUF_INIT;

	for (size_t i = 0; i < line.n;) {
		uint32_t c;
		size_t n = text_decode(line.p + i, line.n - i, &c);

		if ((size_t)byte == i)
			at_byte = column;
		buf_clear(&piece);
		if (c == '\t')
			buf_fill(&piece, ' ', TAB - column % TAB);
		else
			text_add_printable(&piece, line.p + i, n);
		buf_add(out, piece.data, piece.n);
		column += text_width(buf_str(&piece));
		i += n;
	}
	buf_done(&piece);
	return byte >= 0 && (size_t)byte >= line.n ? column : at_byte;
}

enum { COSTS = 7 + 1 + BAR + 1 + 7 }; /* columns: self, bar, total */

/* Under a hot line: the function or operation it spends its time in, where that was seen. */
static void print_operation(const struct page *g, const struct profile_line *l, size_t at)
{
	struct buf text = BUF_INIT;

	if (probes_add_line(g->v->probes, l->file, l->line, l->cost.self_value, &text)) {
		buf_fill(g->out, ' ', at);
		style_begin(g->out, STYLE_ACCENT, g->v->colour);
		text_add_cut(g->out, buf_str(&text), g->v->width > at + 10 ? g->v->width - at : 10,
			TEXT_CUT_END);
		style_end(g->out, STYLE_ACCENT, g->v->colour);
		buf_addc(g->out, '\n');
	}
	buf_done(&text);
}

/* Under a hot line: which part of it the time is spent in, where that says something. */
static void print_part(
	const struct page *g, const struct profile_line *l, struct text_line text, size_t number)
{
	struct buf ignored = BUF_INIT;
	size_t from, to, at = COSTS + 2 + number + 2;
	char share[UNITS_TEXT];

	if (profile_share(g->p, l->cost.self_value) < 0.02)
		return;
	if (l->column < 0 || l->column_share > 0.995 || l->column_share < 0.3) {
		print_operation(g, l, at);
		return;
	}
	from = add_text(&ignored, text, l->column);
	to = add_text(&ignored, text, l->end_column);
	buf_done(&ignored);
	if (to <= from || at + to + 8 > g->v->width)
		return;
	buf_fill(g->out, ' ', at + from);
	style_begin(g->out, STYLE_ACCENT, g->v->colour);
	buf_fill(g->out, '^', to - from);
	buf_printf(g->out, " %s", units_format(share, UNIT_SHARE, l->column_share));
	style_end(g->out, STYLE_ACCENT, g->v->colour);
	buf_addc(g->out, '\n');
	print_operation(g, l, at);
}

static void print_line(const struct page *g, const char *file, size_t line, size_t number,
	const struct profile_line *cost)
{
	struct text_line text = source_texts_line(g->texts, file, (int)line);
	struct buf bar = BUF_INIT, whole = BUF_INIT;
	size_t room = g->v->width > COSTS + number + 4 + 10 ? g->v->width - COSTS - number - 4 : 10,
	       end;

	add_share(g, cost ? cost->cost.self_value : 0, 7);
	if (cost && g->most_s > 0)
		style_bar(&bar, cost->cost.self_value / g->most_s, BAR);
	buf_addc(g->out, ' ');
	style_add(g->out, STYLE_ACCENT, g->v->colour, "%s", buf_str(&bar));
	buf_fill(g->out, ' ', BAR - text_width(buf_str(&bar)) + 1);
	add_share(g, cost ? cost->cost.total_value : 0, 7);
	buf_fill(g->out, ' ', 2 + number - digits(line));
	style_add(g->out, STYLE_DIM, g->v->colour, "%zu", line);
	buf_adds(g->out, "  ");
	add_text(&whole, text, -1);
	if (!cost)
		style_begin(g->out, STYLE_DIM, g->v->colour);
	text_add_cut(g->out, buf_str(&whole), room, TEXT_CUT_END);
	if (!cost)
		style_end(g->out, STYLE_DIM, g->v->colour);
	for (end = g->out->n; end && g->out->data[end - 1] == ' ';)
		g->out->n = --end;
	buf_addc(g->out, '\n');
	if (cost)
		print_part(g, cost, text, number);
	buf_done(&bar);
	buf_done(&whole);
}

static void print_fold(const struct page *g, size_t n, double self_s)
{
	char share[UNITS_TEXT];

	buf_fill(g->out, ' ', COSTS + 2);
	style_begin(g->out, STYLE_DIM, g->v->colour);
	if (profile_share(g->p, self_s) >= 0.0005)
		buf_printf(g->out, "⋯ %zu lines, %s", n,
			units_format(share, UNIT_SHARE, profile_share(g->p, self_s)));
	else
		buf_printf(g->out, "⋯ %zu %s", n, n == 1 ? "line" : "lines");
	style_end(g->out, STYLE_DIM, g->v->colour);
	buf_addc(g->out, '\n');
}

static void print_file_head(const struct page *g, const struct file *f)
{
	const char *note = source_texts_note(g->texts, f->name);
	struct buf name = BUF_INIT;

	text_add_printable(&name, profile_path(g->v, f->name), strlen(profile_path(g->v, f->name)));
	buf_addc(g->out, '\n');
	style_add(g->out, STYLE_BOLD, g->v->colour, "%s", buf_str(&name));
	if (*note)
		style_add(g->out, STYLE_WARNING, g->v->colour, "  (%s)", note);
	buf_addc(g->out, '\n');
	buf_done(&name);
}

static void print_file(const struct page *g, const struct file *f)
{
	size_t n = source_texts_n_lines(g->texts, f->name), number = 1, folded = 0;
	bool *shown = xcalloc(n + 2, sizeof *shown), is_first = true;
	const struct profile_line **costs = xcalloc(n + 2, sizeof *costs);
	double folded_s = 0;

	mark(g, f->name, n, shown, costs);
	for (size_t i = 1; i <= n; i++)
		if (shown[i])
			number = digits(i);
	print_file_head(g, f);
	for (size_t i = 1; i <= n; i++) {
		/* A single line between two that are shown costs no more than saying so. */
		if (!shown[i] && !(i > 1 && i < n && shown[i - 1] && shown[i + 1])) {
			folded++;
			folded_s += costs[i] ? costs[i]->cost.self_value : 0;
			continue;
		}
		if (folded && !is_first)
			print_fold(g, folded, folded_s);
		is_first = false;
		folded = 0;
		folded_s = 0;
		print_line(g, f->name, i, number, costs[i]);
	}
	free(shown);
	free(costs);
}

bool profile_print_source(const struct profile *p, const struct source_texts *t,
	const struct profile_view *v, struct buf *out)
{
	struct page g = { .p = p, .texts = t, .v = v, .out = out };
	bool has_any;

	choose(&g);
	has_any = g.hot.n > 0;
	if (has_any) {
		sort_by_file(&g);
		profile_title(v, "Lines", out);
		style_add(out, STYLE_BOLD, v->colour, "   self             total  source\n");
		qsort(g.files.v, g.files.n, sizeof *g.files.v, by_self);
		vec_each (&g.files, f)
			print_file(&g, f);
		profile_more(v, g.hot.n, p->n_lines, out);
	}
	vec_done(&g.files);
	map_done(&g.file_index);
	vec_done(&g.lines);
	vec_done(&g.hot);
	return has_any;
}
