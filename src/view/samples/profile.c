/* SPDX-License-Identifier: MIT
 * See profile.h: functions, lines and threads as tables. */
#include "view/samples/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/code/source_texts.h"
#include "analyze/samples/imports.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

enum { NARROW = 72 }; /* below it ± gives way to names */

/* ---- what the pages share -------------------------------------------------------------------- */

double profile_share(const struct profile *p, double seconds)
{
	return p->value > 0 ? seconds / p->value : 0;
}

const char *profile_unit(enum unit unit)
{
	return unit == UNIT_SECONDS ? "time" : unit == UNIT_BYTES ? "bytes" : "count";
}

void profile_cell_place(
	struct table *t, const struct profile_view *v, const char *file, unsigned line)
{
	if (line)
		table_cell(t, "%s:%u", profile_path(v, file), line);
	else
		table_cell(t, "%s", profile_path(v, file));
}

size_t profile_rows(const struct profile_view *v, size_t n)
{
	return v->limit && n > v->limit ? v->limit : n;
}

const char *profile_path(const struct profile_view *v, const char *file)
{
	size_t n = v->folder ? strlen(v->folder) : 0;

	if (n && strncmp(file, v->folder, n) == 0 && file[n] == '/' && !frames_is_library(file))
		return file + n + 1;
	return frames_module_path(file);
}

void profile_title(const struct profile_view *v, const char *title, struct buf *out)
{
	buf_addc(out, '\n');
	style_add(out, STYLE_BOLD, v->colour, "%s", title);
	if (*v->what)
		buf_printf(out, " (%s)", v->what);
	buf_addc(out, '\n');
}

void profile_more(const struct profile_view *v, size_t shown, size_t all, struct buf *out)
{
	if (shown < all)
		style_add(out, STYLE_DIM, v->colour, "… and %zu more\n", all - shown);
}

/* ---- functions and lines --------------------------------------------------------------------- */

/* Half the width of the interval: what the ± column shows. */
static double plus_minus(struct interval i)
{
	return (i.high - i.low) / 2;
}

/* "3.1–28 ms": both ends in the unit of the greater, to two digits. */
static void format_bounds(char text[PROFILE_INTERVAL_TEXT], struct interval of)
{
	static const struct {
		double s;
		const char *name;
	} units[] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "µs" }, { 1e-9, "ns" } };
	size_t i = 0;
	double low, high;

	while (i + 1 < sizeof units / sizeof *units && of.high < units[i].s)
		i++;
	low = of.low / units[i].s;
	high = of.high / units[i].s;
	snprintf(text, PROFILE_INTERVAL_TEXT, "%.*f–%.*f %s", low > 0 && low < 9.95, low,
		high < 9.95, high, units[i].name);
}

const char *profile_interval_text(
	char text[PROFILE_INTERVAL_TEXT], struct interval of, bool is_bound)
{
	text[0] = '\0';
	if (!units_is_known(of.low) || !units_is_known(of.high) || !(of.high > 0))
		return text;
	if (is_bound)
		format_bounds(text, of);
	else
		units_format(text, UNIT_SHARE, (of.high - of.low) / (of.high + of.low));
	return text;
}

void profile_cell_interval(struct table *t, struct interval of, bool is_bound)
{
	char text[PROFILE_INTERVAL_TEXT];

	table_cell(t, "%s", profile_interval_text(text, of, is_bound));
}

static void add_interval(struct table *t, struct interval i)
{
	if (units_is_known(i.low))
		table_cell(t, "%.1f–%.1f", i.low * 100, i.high * 100);
	else
		table_cell(t, "–");
}

/* Of sampled allocations: intervals are of the bytes, as a part of them, and blocks are counted. */
static void add_bytes(struct table *t, const struct profile_cost *c, const struct profile_view *v)
{
	if (v->ci)
		return;
	if (c->self_value > 0 && c->self.high > c->self.low)
		profile_cell_interval(t, c->self, false);
	else
		table_cell(t, "%s", "");
	if (v->width >= NARROW)
		table_cell_unit(t, UNIT_COUNT, round(c->self_count));
}

static void add_cost(struct table *t, const struct profile *p, const struct profile_cost *c,
	const struct profile_view *v)
{
	struct buf bar = BUF_INIT;
	char text[UNITS_TEXT];

	table_cell_unit(t, UNIT_SHARE, profile_share(p, c->self_value));
	if (v->ci)
		add_interval(t, c->self);
	else if (v->width >= NARROW && !p->is_exact && !p->has_counts)
		table_cell(t, "±%.1f", plus_minus(c->self) * 100);
	if (!v->ci) {
		style_bar(&bar, profile_share(p, c->self_value), 8);
		table_cell(t, "%s", buf_str(&bar));
	}
	table_cell(t, "%s", units_format(text, p->unit, c->self_value));
	if (p->has_counts)
		add_bytes(t, c, v);
	table_cell_unit(t, UNIT_SHARE, profile_share(p, c->total_value));
	if (v->ci)
		add_interval(t, c->total);
	buf_done(&bar);
}

/* The columns of add_cost, then two of text. */
static struct table *new_table(const struct profile *p, const struct profile_view *v,
	struct table_column first, struct table_column second)
{
	struct table_column columns[9];
	size_t n = 0;

	columns[n++] = (struct table_column){ "self", TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (v->ci)
		columns[n++] = (struct table_column){ "95 %", TABLE_RIGHT, TEXT_CUT_END, 0 };
	else if (v->width >= NARROW && !p->is_exact && !p->has_counts)
		columns[n++] = (struct table_column){ "±", TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (!v->ci)
		columns[n++] = (struct table_column){ "", TABLE_LEFT, TEXT_CUT_END, 0, 1 };
	columns[n++] =
		(struct table_column){ profile_unit(p->unit), TABLE_RIGHT, TEXT_CUT_END, 0, 2 };
	if (p->has_counts && !v->ci)
		columns[n++] = (struct table_column){ "±", TABLE_RIGHT, TEXT_CUT_END, 0 };
	if (p->has_counts && !v->ci && v->width >= NARROW)
		columns[n++] = (struct table_column){ "blocks", TABLE_RIGHT, TEXT_CUT_END, 0, 4 };
	columns[n++] = (struct table_column){ "total", TABLE_RIGHT, TEXT_CUT_END, 0, 3 };
	if (v->ci)
		columns[n++] = (struct table_column){ "95 %", TABLE_RIGHT, TEXT_CUT_END, 0, 1 };
	columns[n++] = first;
	columns[n++] = second;
	return table_new(columns, n);
}

static void print_table(struct table *t, const char *title, size_t shown, size_t all,
	const struct profile_view *v, struct buf *out)
{
	profile_title(v, title, out);
	if (all)
		table_emit(t, out, v->width, v->colour);
	else
		buf_adds(out, "no samples match\n");
	profile_more(v, shown, all, out);
	table_free(t);
}

static bool is_imports(const struct profile_function *f)
{
	return f->is_synthetic && strcmp(f->name, "[imports]") == 0;
}

static void cell_packages(struct table *t, const struct profile_view *v)
{
	struct buf names = BUF_INIT;

	if (v->imports)
		imports_describe(v->imports, 1, &names);
	table_cell(t, "%s", buf_str(&names));
	buf_done(&names);
}

void profile_print_import_note(
	const struct profile *p, const struct profile_view *v, struct buf *out)
{
	char share[UNITS_TEXT];
	struct buf text = BUF_INIT;

	if (!v->imports || v->imports->value <= 0)
		return;
	for (size_t i = 0; i < p->n_functions; i++)
		if (is_imports(&p->functions[i]))
			buf_printf(&text, "[imports], %s, is the import of ",
				units_format(share, UNIT_SHARE,
					profile_share(p, p->functions[i].cost.self_value)));
	if (!text.n) /* no row of it is shown */
		return;
	if (v->imports->n_packages)
		imports_describe(v->imports, 8, &text);
	else
		buf_adds(&text, "libraries");
	buf_adds(&text, "; --imports opens it.");
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, buf_str(&text), 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
	buf_done(&text);
}

void profile_print_functions(const struct profile *p, const struct profile_view *v, struct buf *out)
{
	struct table *t = new_table(p, v,
		(struct table_column){ "function", TABLE_LEFT, TEXT_CUT_MIDDLE, 16 },
		(struct table_column){ "where", TABLE_LEFT, TEXT_CUT_START, 14 });
	size_t n = profile_rows(v, p->n_functions);

	for (size_t i = 0; i < n; i++) {
		const struct profile_function *f = &p->functions[i];

		add_cost(t, p, &f->cost, v);
		table_cell(t, "%s", f->name);
		if (is_imports(f))
			cell_packages(t, v);
		else if (f->is_synthetic)
			table_cell(t, "%s", "");
		else
			profile_cell_place(t, v, f->file, f->first_line);
	}
	print_table(t, "Functions", n, p->n_functions, v, out);
}

static bool add_source(
	struct table *t, const struct source_texts *texts, const struct profile_line *l)
{
	struct text_line line = { 0 };

	if (texts)
		line = source_texts_line(texts, l->file, l->line);
	while (line.n && (*line.p == ' ' || *line.p == '\t')) {
		line.p++;
		line.n--;
	}
	if (!line.n)
		return false;
	table_cell(t, "%.*s", (int)line.n, line.p);
	return true;
}

void profile_print_lines(const struct profile *p, const struct source_texts *texts,
	const struct profile_view *v, struct buf *out)
{
	size_t n = profile_rows(v, p->n_lines), n_texts = 0;
	struct table *t;

	for (size_t i = 0; texts && i < n; i++)
		n_texts += source_texts_line(texts, p->lines[i].file, p->lines[i].line).n > 0;
	t = new_table(p, v, (struct table_column){ "line", TABLE_LEFT, TEXT_CUT_START, 16 },
		(struct table_column){
			n_texts ? "source" : "function", TABLE_LEFT, TEXT_CUT_END, 14 });
	for (size_t i = 0; i < n; i++) {
		const struct profile_line *l = &p->lines[i];

		add_cost(t, p, &l->cost, v);
		if (l->line >= 0)
			table_cell(t, "%s:%d", profile_path(v, l->file), l->line);
		else
			table_cell(t, "%s:?", profile_path(v, l->file));
		if (!add_source(t, n_texts ? texts : NULL, l))
			table_cell(t, n_texts ? "(%s)" : "%s", l->function);
	}
	print_table(t, "Lines", n, p->n_lines, v, out);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* has_process: there are several, so that a column of its own tells whose it is. */
static void add_thread(struct table *t, const struct stacks *s, size_t index, bool has_process)
{
	const struct stack_thread *x = &s->threads[index];
	const struct stack_function *f = frames_function(s->frames, x->top_leaf);
	double n = (double)x->n_samples;

	table_cell(t, "#%zu", index + 1);
	table_cell(t, "%s", *x->name ? x->name : x->tid == x->pid ? "main thread" : "–");
	table_cell(t, "%u", x->tid);
	if (has_process)
		table_cell(t, "%u", x->pid);
	table_cell_unit(t, UNIT_COUNT, n);
	table_cell_unit(t, UNIT_SHARE, x->cpu_s / x->all);
	table_cell_unit(t, UNIT_SHARE, x->gil_s / x->all);
	table_cell(t, "%s", f->name);
}

static struct table *thread_table(bool has_process)
{
	struct table_column columns[8];
	size_t n = 0;

	columns[n++] = (struct table_column){ "", TABLE_RIGHT, TEXT_CUT_END, 0 };
	columns[n++] = (struct table_column){ "thread", TABLE_LEFT, TEXT_CUT_END, 8 };
	columns[n++] = (struct table_column){ "tid", TABLE_RIGHT, TEXT_CUT_END, 0, 2 };
	if (has_process)
		columns[n++] = (struct table_column){ "process", TABLE_RIGHT, TEXT_CUT_END, 0, 4 };
	columns[n++] = (struct table_column){ "samples", TABLE_RIGHT, TEXT_CUT_END, 0, 1 };
	columns[n++] = (struct table_column){ "on CPU", TABLE_RIGHT, TEXT_CUT_END, 0 };
	columns[n++] = (struct table_column){ "holds GIL", TABLE_RIGHT, TEXT_CUT_END, 0, 3 };
	columns[n++] = (struct table_column){ "mostly in", TABLE_LEFT, TEXT_CUT_MIDDLE, 8 };
	return table_new(columns, n);
}

static void print_idle_threads(
	const struct stacks *s, const struct profile_view *v, struct buf *out)
{
	const struct stack_thread *first = NULL;
	bool is_mixed = false;

	if (!s->n_idle_threads)
		return;
	for (size_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].is_idle) {
			is_mixed |= first && first->top_leaf != s->threads[i].top_leaf;
			first = first ? first : &s->threads[i];
		}
	style_add(out, STYLE_DIM, v->colour, "%zu idle %s (in %s%s; --idle lists %s)\n",
		s->n_idle_threads, s->n_idle_threads == 1 ? "thread" : "threads",
		frames_function(s->frames, first->top_leaf)->name, is_mixed ? " and others" : "",
		s->n_idle_threads == 1 ? "it" : "them");
}

void profile_print_threads(
	const struct stacks *s, const struct profile_view *v, bool with_idle, struct buf *out)
{
	bool has_process = false;
	struct table *t;
	bool all_idle = s->n_idle_threads == s->n_threads;
	size_t shown = 0, n = 0;

	for (size_t i = 1; i < s->n_threads; i++)
		has_process |= s->threads[i].pid != s->threads[0].pid;
	t = thread_table(has_process);
	for (size_t i = 0; i < s->n_threads; i++) {
		if (!(s->threads[i].n_samples || s->threads[i].all > 0) ||
			(s->threads[i].is_idle && !with_idle && !all_idle))
			continue;
		n++;
		if (v->limit && shown == v->limit)
			continue;
		add_thread(t, s, i, has_process);
		shown++;
	}
	profile_title(v, "Threads", out);
	table_emit(t, out, v->width, v->colour);
	profile_more(v, shown, n, out);
	if (!with_idle && !all_idle)
		print_idle_threads(s, v, out);
	table_free(t);
}

void profile_print_idle(const struct stacks *s, const struct profile_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;

	if (!s->n_folded)
		return;
	buf_adds(&text, "Left out: ");
	stacks_describe_idle(s, &text);
	buf_adds(&text, "; --idle counts them.");
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, v->colour);
	style_wrap(out, buf_str(&text), 0, v->width);
	style_end(out, STYLE_DIM, v->colour);
	buf_done(&text);
}
