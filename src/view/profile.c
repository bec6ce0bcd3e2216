/* SPDX-License-Identifier: MIT
 * See profile.h. */
#include "view/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/profile.h"
#include "analyze/stacks.h"
#include "base/buf.h"
#include "base/json_write.h"
#include "base/table.h"
#include "base/units.h"
#include "view/style.h"
#include "base/banned.h"

/* Of all time that was sampled; lost samples count with the mean weight. */
static double share(double seconds, const struct profile *p)
{
	return p->seconds > 0 ? seconds / p->seconds * (1 - p->lost_share) : 0;
}

static size_t rows(size_t n, const struct profile_view *v)
{
	return v->limit && n > v->limit ? v->limit : n;
}

/* Half the width of the interval: what the ± column shows. */
static double plus_minus(struct interval i)
{
	return (i.high - i.low) / 2;
}

static const char *short_path(const char *path, const struct profile_view *v)
{
	size_t n = v->folder ? strlen(v->folder) : 0;

	return n && strncmp(path, v->folder, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void add_cost(struct table *t, const struct profile *p, const struct profile_cost *c)
{
	struct buf bar = BUF_INIT;
	char text[UNITS_TEXT];

	table_cell_unit(t, UNIT_SHARE, share(c->self_s, p));
	table_cell(t, "±%.1f", plus_minus(c->self) * 100);
	style_bar(&bar, share(c->self_s, p), 8);
	table_cell(t, "%s", buf_str(&bar));
	table_cell(t, "%s", units_format(text, UNIT_SECONDS, c->self_s));
	table_cell_unit(t, UNIT_SHARE, share(c->total_s, p));
	buf_done(&bar);
}

static void print_table(struct table *t, const char *title, size_t shown, size_t all,
	const struct profile_view *v, struct buf *out)
{
	style_add(out, STYLE_BOLD, v->colour, "\n%s\n", title);
	table_emit(t, out, v->width, v->colour);
	if (shown < all)
		style_add(out, STYLE_DIM, v->colour, "… and %zu more\n", all - shown);
	table_free(t);
}

void profile_print_functions(const struct profile *p, const struct profile_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "self", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "±", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "time", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "total", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "function", TABLE_LEFT, TEXT_CUT_END, 16 },
		{ "where", TABLE_LEFT, TEXT_CUT_START, 14 },
	};
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);
	size_t n = rows(p->n_functions, v);

	for (size_t i = 0; i < n; i++) {
		const struct profile_function *f = &p->functions[i];

		add_cost(t, p, &f->cost);
		table_cell(t, "%s", f->name);
		if (f->is_synthetic)
			table_cell(t, "%s", "");
		else
			table_cell(t, "%s:%u", short_path(f->file, v), f->first_line);
	}
	print_table(t, "Functions", n, p->n_functions, v, out);
}

void profile_print_lines(const struct profile *p, const struct profile_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "self", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "±", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "time", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "total", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "line", TABLE_LEFT, TEXT_CUT_START, 16 },
		{ "function", TABLE_LEFT, TEXT_CUT_END, 14 },
	};
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);
	size_t n = rows(p->n_lines, v);

	for (size_t i = 0; i < n; i++) {
		const struct profile_line *l = &p->lines[i];

		add_cost(t, p, &l->cost);
		if (l->line >= 0)
			table_cell(t, "%s:%d", short_path(l->file, v), l->line);
		else
			table_cell(t, "%s:?", short_path(l->file, v));
		table_cell(t, "%s", l->function);
	}
	print_table(t, "Lines", n, p->n_lines, v, out);
}

void profile_print_threads(const struct stacks *s, const struct profile_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "thread", TABLE_LEFT, TEXT_CUT_END, 8 },
		{ "tid", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "process", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "samples", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "on CPU", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "holds GIL", TABLE_RIGHT, TEXT_CUT_END, 0 },
	};
	struct table *t = table_new(columns, sizeof columns / sizeof *columns);
	size_t n = rows(s->n_threads, v);

	for (size_t i = 0; i < n; i++) {
		const struct stack_thread *x = &s->threads[i];

		table_cell(t, "%s", *x->name ? x->name : "–");
		table_cell(t, "%u", x->tid);
		table_cell(t, "%u", x->pid);
		table_cell_unit(t, UNIT_COUNT, (double)x->n_samples);
		table_cell_unit(t, UNIT_SHARE, (double)x->n_cpu / (double)x->n_samples);
		table_cell_unit(t, UNIT_SHARE, (double)x->n_gil / (double)x->n_samples);
	}
	print_table(t, "Threads", n, s->n_threads, v, out);
}

static void json_cost(const struct profile *p, const struct profile_cost *c, struct json_writer *w)
{
	json_kv_double(w, "self_s", c->self_s);
	json_kv_double(w, "total_s", c->total_s);
	json_kv_double(w, "self_low_s", c->self.low * p->seconds);
	json_kv_double(w, "self_high_s", c->self.high * p->seconds);
	json_kv_u64(w, "self_samples", c->self_n);
	json_kv_u64(w, "total_samples", c->total_n);
}

void profile_json(const struct profile *p, struct json_writer *w)
{
	json_key(w, "functions");
	json_array_begin(w);
	for (size_t i = 0; i < p->n_functions; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", p->functions[i].name);
		json_kv_string(w, "file", p->functions[i].file);
		json_kv_u64(w, "line", p->functions[i].first_line);
		json_cost(p, &p->functions[i].cost, w);
		json_key(w, "calls");
		json_null(w); /* sampling does not count */
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "lines");
	json_array_begin(w);
	for (size_t i = 0; i < p->n_lines; i++) {
		json_object_begin(w);
		json_kv_string(w, "file", p->lines[i].file);
		json_kv_i64(w, "line", p->lines[i].line);
		json_kv_string(w, "function", p->lines[i].function);
		json_cost(p, &p->lines[i].cost, w);
		json_key(w, "hits");
		json_null(w);
		json_object_end(w);
	}
	json_array_end(w);
}
