/* SPDX-License-Identifier: MIT
 * See top.h: the screen. Three lines of what is going on, a table or another pane, one line of keys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/grid.h"
#include "view/kit/style.h"
#include "view/samples/top.h"
#include "base/banned.h"

enum { HEAD_ROWS = 3, COLUMN_SHARE = 7, COLUMN_TIME = 9, BAR = 8, GRAPH_MOST = 30 };

struct screen {
	struct top *t;
	const struct live_view *v;
	const struct top_facts *f;
	struct grid *g;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A command without the folder of its program, which says least. */
static const char *without_folder(const char *command)
{
	size_t n = strcspn(command, " '");

	while (n > 0 && command[n - 1] != '/')
		n--;
	return command + n;
}

/* ---- the head -------------------------------------------------------------------------------- */

static void add_clock(struct buf *out, double seconds)
{
	unsigned s = (unsigned)(seconds > 0 ? seconds : 0);

	if (s >= 3600)
		buf_printf(out, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
	else
		buf_printf(out, "%u:%02u", s / 60, s % 60);
}

static void add_end(struct buf *out, const struct screen *s)
{
	int status = s->v->status;

	if (!s->v->has_ended)
		return;
	if (status >= 0 && WIFSIGNALED(status))
		buf_printf(out, "killed by signal %d at ", WTERMSIG(status));
	else if (status >= 0)
		buf_printf(out, "ended with status %d at ", WEXITSTATUS(status));
	else
		buf_adds(out, "ended at ");
}

static void draw_title(struct screen *s)
{
	struct buf right = BUF_INIT, left = BUF_INIT;
	int width, at;

	if (*s->v->interpreter) {
		const char *version = strchr(s->v->interpreter, ' ');

		buf_printf(&right, "CPython%s", version ? version : "");
		if (s->v->n_interpreters > 1)
			buf_printf(&right, " +%zu", s->v->n_interpreters - 1);
		buf_adds(&right, "  ");
	}
	add_end(&right, s);
	add_clock(&right, s->v->elapsed_s);
	width = (int)text_width(buf_str(&right));
	at = grid_put(s->g, 0, 0, STYLE_ACCENT, "leadline top") + 1;
	if (s->v->pid)
		buf_printf(&left, "%u ", s->v->pid);
	buf_adds(&left, without_folder(s->v->command));
	grid_field(s->g, 0, at, s->g->columns - at - width - 2, STYLE_BOLD, TEXT_CUT_END,
		buf_str(&left));
	grid_put(s->g, 0, s->g->columns - width, s->v->has_ended ? STYLE_WARNING : STYLE_PLAIN,
		buf_str(&right));
	buf_done(&right);
	buf_done(&left);
}

static double largest(const double *values, size_t n, double least)
{
	for (size_t i = 0; i < n; i++)
		least = fmax(least, values[i]);
	return least;
}

static int draw_graph(struct screen *s, int at, int width, const double *values, double most)
{
	struct buf line = BUF_INIT;

	if (width > 0)
		style_sparkline(&line, values, s->v->n_history, most, (size_t)width);
	grid_put(s->g, 1, at, STYLE_ACCENT, buf_str(&line));
	buf_done(&line);
	return at + (width > 0 ? width + 1 : 0);
}

/* The graphs get what the figures leave. */
static void draw_load(struct screen *s)
{
	const struct live_view *v = s->v;
	char cpu[48], memory[64], rest[96], rss[UNITS_TEXT], gil[24] = "";
	int width, at;

	if (v->n_samples)
		snprintf(gil, sizeof gil, " GIL %3.0f %%", v->gil * 100);
	snprintf(cpu, sizeof cpu, "CPU %3.0f %% ", v->cpu * 100);
	snprintf(memory, sizeof memory, "RSS %s ", units_format(rss, UNIT_BYTES, v->rss_bytes));
	snprintf(rest, sizeof rest, "%s  threads %.0f", gil,
		units_is_known(v->n_threads) ? v->n_threads : 0);
	if (units_is_known(v->n_processes) && v->n_processes > 1)
		snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "  processes %.0f",
			v->n_processes);
	width = (s->g->columns - (int)(strlen(cpu) + strlen(memory) + text_width(rest)) - 2) / 2;
	width = width > GRAPH_MOST ? GRAPH_MOST : width;
	at = grid_put(s->g, 1, 0, STYLE_PLAIN, cpu);
	at = draw_graph(s, at, width, v->cpu_history, largest(v->cpu_history, v->n_history, 1));
	at = grid_put(s->g, 1, at, STYLE_PLAIN, memory);
	at = draw_graph(s, at, width, v->rss_history, largest(v->rss_history, v->n_history, 1));
	grid_put(s->g, 1, at, STYLE_PLAIN, rest);
}

static const char *state_words(enum stacks_state state)
{
	switch (state) {
	case STACKS_WALL:
		return "wall time";
	case STACKS_CPU:
		return "on CPU";
	case STACKS_GIL:
		return "holding the GIL";
	case STACKS_RUNNABLE:
		return "ready without a CPU";
	case STACKS_WAIT:
	case STACKS_STATES_:
		break;
	}
	return "waiting";
}

/* What the table is of, then how far it can be trusted; the latter is left out where it does not fit. */
static void draw_selection(struct screen *s)
{
	const struct live_view *v = s->v;
	struct buf text = BUF_INIT;
	char rate[UNITS_TEXT], samples[UNITS_TEXT];
	int at = 0;

	if (s->t->is_paused)
		at = grid_put(s->g, 2, at, STYLE_REVERSE, " PAUSED ") + 1;
	else if (s->f->is_over)
		at = grid_put(s->g, 2, at, STYLE_REVERSE, " OVER ") + 1;
	buf_printf(&text, "last %.0f s, %s", fmin(s->t->select.window_s, 60),
		state_words(s->t->select.state));
	if (s->t->select.tid)
		buf_printf(&text, ", thread %u", s->t->select.tid);
	if (*s->t->filter && !s->t->is_typing)
		buf_printf(&text, ", /%s", s->t->filter);
	at = grid_put(s->g, 2, at, STYLE_BOLD, buf_str(&text)) + 2;
	buf_clear(&text);
	buf_printf(&text, "%s  %s samples", units_format(rate, UNIT_HERTZ, v->rate_hz),
		units_format(samples, UNIT_COUNT, (double)v->n_samples));
	if (v->n_lost)
		buf_printf(&text, ", %llu lost", (unsigned long long)v->n_lost);
	if (s->g->columns - at >= 52)
		buf_printf(&text, ", %llu shortened", (unsigned long long)v->n_shortened);
	grid_field(s->g, 2, at, s->g->columns - at, v->n_lost ? STYLE_WARNING : STYLE_DIM,
		TEXT_CUT_END, buf_str(&text));
	buf_done(&text);
}

/* ---- the table of functions or lines --------------------------------------------------------- */

/* Where columns begin: figures, a bar on wide screens, names. */
struct columns {
	int names, name_width, where_width;
	bool has_bar;
};

/* Names get what the longest on the screen needs, in steps so that the columns do not jitter, and at most
 * somewhat over half. */
static struct columns columns_for(
	const struct screen *s, const struct live_row *const *rows, size_t n, size_t page)
{
	const struct grid *g = s->g;
	struct columns c = { .has_bar = g->columns >= 100 };
	int rest, needed = 8;

	for (size_t i = s->t->first; i < n && i < s->t->first + page; i++) {
		int width = (int)text_width(
			s->t->table == TOP_LINES ? base_name(rows[i]->file) : rows[i]->name);

		width += s->t->table == TOP_LINES ? 6 : 0;
		needed = width > needed ? width : needed;
	}

	c.names = 2 * COLUMN_SHARE + 2 * COLUMN_TIME + 2 + (c.has_bar ? BAR + 2 : 0);
	rest = g->columns - c.names;
	needed = (needed + 7) / 8 * 8;
	c.name_width = needed < rest * 11 / 20 ? needed : rest * 11 / 20;
	c.where_width = rest - c.name_width - 1;
	return c;
}

static void draw_titles(struct screen *s, const struct columns *c, int row)
{
	static const char *const titles[TOP_SORTS] = { "%self", "%total", "self s", "total s" };
	bool is_lines = s->t->table == TOP_LINES;
	char marked[16];
	int at = 0;

	for (int i = 0; i < TOP_SORTS; i++) {
		int width = i < 2 ? COLUMN_SHARE : COLUMN_TIME;

		snprintf(marked, sizeof marked, "%s%s", (int)s->t->sort == i ? "▾" : "", titles[i]);
		at = grid_field_right(s->g, row, at, width, STYLE_PLAIN, marked);
	}
	grid_put(s->g, row, c->names, STYLE_PLAIN, is_lines ? "line" : "function");
	grid_put(s->g, row, c->names + c->name_width + 1, STYLE_PLAIN,
		is_lines ? "function" : "where");
	grid_style_row(s->g, row, STYLE_REVERSE);
}

static void add_where(struct buf *out, const struct live_row *r, bool is_short)
{
	if (r->is_synthetic)
		return;
	buf_adds(out, is_short ? base_name(r->file) : r->file);
	if (r->line >= 0)
		buf_printf(out, ":%d", r->line);
}

static void draw_row(struct screen *s, const struct columns *c, int row, const struct live_row *r)
{
	double now = s->v->window_s;
	bool is_lines = s->t->table == TOP_LINES, is_short = c->where_width < 40;
	enum style style = r->now.self_s > 0.005 * now ? STYLE_PLAIN : STYLE_DIM;
	struct buf where = BUF_INIT, bar = BUF_INIT;
	int at = 0;
	char text[4][16];

	snprintf(text[0], sizeof text[0], "%.1f", now > 0 ? r->now.self_s / now * 100 : 0);
	snprintf(text[1], sizeof text[1], "%.1f", now > 0 ? r->now.total_s / now * 100 : 0);
	snprintf(text[2], sizeof text[2], "%.2f", r->since.self_s);
	snprintf(text[3], sizeof text[3], "%.2f", r->since.total_s);
	for (int i = 0; i < 4; i++)
		at = grid_field_right(s->g, row, at, i < 2 ? COLUMN_SHARE : COLUMN_TIME,
			(int)s->t->sort == i ? STYLE_BOLD : style, text[i]);
	if (c->has_bar && now > 0) {
		style_bar(&bar, r->now.self_s / now, BAR);
		grid_put(s->g, row, at + 2, STYLE_ACCENT, buf_str(&bar));
	}
	add_where(&where, r, is_short);
	if (is_lines && !r->is_synthetic) {
		grid_field(
			s->g, row, c->names, c->name_width, style, TEXT_CUT_START, buf_str(&where));
		grid_field(s->g, row, c->names + c->name_width + 1, c->where_width, STYLE_DIM,
			TEXT_CUT_END, r->name);
	} else {
		grid_field(s->g, row, c->names, c->name_width, style, TEXT_CUT_END, r->name);
		grid_field(s->g, row, c->names + c->name_width + 1, c->where_width, STYLE_DIM,
			TEXT_CUT_START, buf_str(&where));
	}
	buf_done(&where);
	buf_done(&bar);
}

/* Why there is nothing to see, and what to do. */
static void draw_empty(struct screen *s, int row)
{
	const struct live_view *v = s->v;
	char text[160];

	if (*s->t->filter)
		snprintf(text, sizeof text, "No row matches; Esc clears the filter.");
	else if (!*v->interpreter && !s->f->is_over)
		snprintf(text, sizeof text, "Waiting for a Python that can be sampled…");
	else if (!v->n_samples)
		snprintf(text, sizeof text, "No Python stack was seen.");
	else
		snprintf(text, sizeof text,
			"Nothing was %s%s: w shows all time, including waiting%s.",
			s->t->select.state == STACKS_WALL ? "sampled"
							  : state_words(s->t->select.state),
			s->t->select.tid ? " in this thread" : "",
			s->t->select.tid ? ", a all threads" : "");
	grid_field(s->g, row, 1, s->g->columns - 2, STYLE_DIM, TEXT_CUT_END, text);
}

static void keep_inside(size_t *first, size_t n, size_t page)
{
	if (*first + page > n)
		*first = n > page ? n - page : 0;
}

static void draw_table(struct screen *s, int top, int end)
{
	struct columns c;
	size_t n, page = (size_t)(end - top - 1 > 0 ? end - top - 1 : 0);
	const struct live_row **rows = top_rows(s->t, s->v, &n);

	s->t->page_rows = page;
	keep_inside(&s->t->first, n, page);
	c = columns_for(s, rows, n, page);
	draw_titles(s, &c, top);
	for (size_t i = 0; i < page && s->t->first + i < n; i++)
		draw_row(s, &c, top + 1 + (int)i, rows[s->t->first + i]);
	if (n == 0)
		draw_empty(s, top + 1);
	free(rows);
}

/* ---- threads --------------------------------------------------------------------------------- */

static const char *doing(const struct live_thread *t)
{
	if (t->in_gc)
		return "collecting";
	if (t->wants_gil)
		return "wants GIL";
	if (t->state == 'D')
		return "disk";
	if (t->on_cpu)
		return t->holds_gil ? "runs, GIL" : "runs";
	return "waits";
}

static void draw_thread(struct screen *s, int row, const struct live_thread *t, bool is_chosen)
{
	struct buf name = BUF_INIT, where = BUF_INIT;
	char cpu[16] = "–", gil[16];
	int width = s->g->columns, at, name_width = width >= 100 ? 24 : width / 4;

	if (*t->name)
		buf_printf(&name, "%s ", t->name);
	buf_printf(&name, "%u", t->tid);
	if (s->v->n_processes > 1)
		buf_printf(&name, " of %u", t->pid);
	if (units_is_known(t->cpu))
		snprintf(cpu, sizeof cpu, "%.0f", t->cpu * 100);
	snprintf(gil, sizeof gil, "%.0f", t->gil * 100);
	at = grid_field(s->g, row, 0, name_width, STYLE_PLAIN, TEXT_CUT_MIDDLE, buf_str(&name)) + 1;
	at = grid_field_right(s->g, row, at, 5, STYLE_PLAIN, cpu);
	at = grid_field_right(s->g, row, at, 6, STYLE_PLAIN, gil) + 2;
	at = grid_field(s->g, row, at, 11, STYLE_PLAIN, TEXT_CUT_END, doing(t));
	if (t->has_stack) {
		buf_printf(&where, "%s", t->at.name);
		if (!t->at.is_synthetic)
			buf_printf(&where, "  %s:%d", base_name(t->at.file), t->at.line);
	}
	grid_field(s->g, row, at, width - at, STYLE_PLAIN, TEXT_CUT_END, buf_str(&where));
	if (is_chosen)
		grid_style_row(s->g, row, STYLE_REVERSE);
	buf_done(&name);
	buf_done(&where);
}

static void draw_threads(struct screen *s, int top, int end)
{
	size_t n, page = (size_t)(end - top - 1 > 0 ? end - top - 1 : 0), first;
	const struct live_thread **threads = top_threads(s->v, &n);
	int at, name_width = s->g->columns >= 100 ? 24 : s->g->columns / 4;

	s->t->page_rows = page;
	if (s->t->cursor >= n)
		s->t->cursor = n ? n - 1 : 0;
	first = s->t->cursor >= page ? s->t->cursor - page + 1 : 0;
	grid_put(s->g, top, 0, STYLE_PLAIN, "thread");
	at = grid_field_right(s->g, top, name_width + 1, 5, STYLE_PLAIN, "CPU%");
	at = grid_field_right(s->g, top, at, 6, STYLE_PLAIN, "GIL%") + 2;
	at = grid_field(s->g, top, at, 11, STYLE_PLAIN, TEXT_CUT_END, "state");
	grid_put(s->g, top, at, STYLE_PLAIN, "in");
	grid_style_row(s->g, top, STYLE_BOLD);
	for (size_t i = 0; i < page && first + i < n; i++)
		draw_thread(s, top + 1 + (int)i, threads[first + i], first + i == s->t->cursor);
	if (n == 0)
		grid_put(s->g, top + 1, 1, STYLE_DIM, "No thread was seen in the window.");
	free(threads);
}

/* ---- help, output ---------------------------------------------------------------------------- */

static void draw_help(struct screen *s, int top, int end)
{
	static const struct {
		const char *keys, *text;
	} help[] = {
		{ "1 2 3 4, s", "sort by a column" },
		{ "/ or f", "filter, Esc clears" },
		{ "l", "lines or functions" },
		{ "c w g y", "CPU wall GIL ready" },
		{ "t", "threads" },
		{ "Enter, a", "one thread, all" },
		{ "+ -", "length of window" },
		{ "p, space", "pause the view" },
		{ "r", "restart the sums" },
		{ "o", "program's output" },
		{ "arrows", "scroll, PgUp …" },
		{ "? or h", "this help" },
		{ "q", "quit" },
	};
	static const char *const words[] = {
		"",
		"%self   of the last seconds: the function itself ran, or C code it called",
		"%total  it was anywhere on the stack; 100 % is one thread all the time",
		"self s, total s   the same in seconds, since the start or r",
	};
	int n = sizeof help / sizeof *help, columns = s->g->columns >= 80 ? 2 : 1, rows, width;

	if (n > end - top && s->g->columns >= 56)
		columns = 2;
	rows = (n + columns - 1) / columns;
	width = s->g->columns / columns;
	for (int i = 0; i < n; i++) {
		int row = top + i % rows, at = i / rows * width;

		if (row >= end)
			continue;
		grid_field(s->g, row, at, 14, STYLE_ACCENT, TEXT_CUT_END, help[i].keys);
		grid_field(s->g, row, at + (width < 40 ? 11 : 14), width - (width < 40 ? 11 : 14),
			STYLE_PLAIN, TEXT_CUT_END, help[i].text);
	}
	for (int i = 0; i < (int)(sizeof words / sizeof *words); i++)
		if (top + rows + i < end)
			grid_field(s->g, top + rows + i, 0, s->g->columns, STYLE_DIM, TEXT_CUT_END,
				words[i]);
}

/* The last lines that fit. */
static void draw_output(struct screen *s, int top, int end)
{
	const char *text = s->f->output ? s->f->output : "", *at = text + strlen(text);
	int rows = end - top, n = 0;

	if (!*text) {
		grid_put(s->g, top, 1, STYLE_DIM,
			s->f->output ? "The program has written nothing yet."
				     : "The program writes where it was started.");
		return;
	}
	while (at > text && n <= rows) {
		at--;
		n += *at == '\n' && at[1];
	}
	at += *at == '\n' && n > rows;
	for (int row = top; row < end && *at; row++) {
		struct buf line = BUF_INIT;
		size_t length = strcspn(at, "\n");

		buf_add(&line, at, length);
		grid_field(s->g, row, 0, s->g->columns, STYLE_PLAIN, TEXT_CUT_END, buf_str(&line));
		buf_done(&line);
		at += length + (at[length] == '\n');
	}
}

/* ---- the last line --------------------------------------------------------------------------- */

static void draw_keys(struct screen *s, int row)
{
	static const struct {
		const char *key, *text;
	} keys[] = { { "q", "quit" }, { "?", "help" }, { "s", "sort" }, { "/", "filter" },
		{ "p", "pause" }, { "t", "threads" }, { "l", "lines" }, { "c w g", "state" },
		{ "r", "reset" }, { "+ -", "window" }, { "o", "output" } };
	int at = 0;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		int width = (int)(strlen(keys[i].key) + strlen(keys[i].text)) + 1;

		if (at + width > s->g->columns)
			break;
		at = grid_put(s->g, row, at, STYLE_ACCENT, keys[i].key) + 1;
		at = grid_put(s->g, row, at, STYLE_DIM, keys[i].text) + 2;
	}
}

static void draw_bottom(struct screen *s, int row)
{
	int width = s->g->columns;
	char text[512];

	switch (s->t->question) {
	case TOP_ASKS_END:
		grid_field(s->g, row, 0, width, STYLE_WARNING, TEXT_CUT_END,
			"The program is still running. Stop it? y yes  n no, let it run  Esc back");
		return;
	case TOP_ASKS_SAVE:
		snprintf(text, sizeof text, "Save the recording as %s? y yes  n no  Esc back",
			s->f->save_name);
		grid_field(s->g, row, 0, width, STYLE_WARNING, TEXT_CUT_MIDDLE, text);
		return;
	case TOP_ASKS_NOTHING:
		break;
	}
	if (s->t->is_typing) {
		snprintf(text, sizeof text, "/%s▏", s->t->filter);
		grid_put(s->g, row, grid_put(s->g, row, 0, STYLE_BOLD, text) + 2, STYLE_DIM,
			"Enter keeps, Esc clears");
	} else if (s->f->note) {
		grid_field(s->g, row, 0, width, STYLE_WARNING, TEXT_CUT_END, s->f->note);
	} else if (!s->f->is_last) {
		draw_keys(s, row);
	}
}

void top_draw(struct top *t, const struct live_view *v, const struct top_facts *f, struct grid *g)
{
	struct screen s = { .t = t, .v = v, .f = f, .g = g };
	int end = g->rows - 1;

	grid_resize(g, g->rows, g->columns);
	draw_title(&s);
	draw_load(&s);
	draw_selection(&s);
	switch (t->pane) {
	case TOP_FUNCTIONS:
	case TOP_LINES:
		draw_table(&s, HEAD_ROWS, end);
		break;
	case TOP_THREADS:
		draw_threads(&s, HEAD_ROWS, end);
		break;
	case TOP_OUTPUT:
		draw_output(&s, HEAD_ROWS, end);
		break;
	case TOP_HELP:
		draw_help(&s, HEAD_ROWS, end);
		break;
	}
	for (int i = 0; i < g->columns; i++) /* the last line wins over what did not fit */
		grid_put(g, end, i, STYLE_PLAIN, " ");
	draw_bottom(&s, end);
}
