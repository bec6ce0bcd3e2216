/* SPDX-License-Identifier: MIT
 * See top.h: settings, keys and the order of rows. The screen is top_draw.c. */
#include "view/samples/top.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/kit/keys.h"
#include "base/banned.h"

void top_init(struct top *t)
{
	*t = (struct top){ .select = { .state = STACKS_CPU, .window_s = 5 } };
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double cost(const struct live_row *r, enum top_sort by)
{
	switch (by) {
	case TOP_SELF_NOW:
		return r->now.self_s;
	case TOP_TOTAL_NOW:
		return r->now.total_s;
	case TOP_SELF:
		return r->since.self_s;
	case TOP_TOTAL:
	case TOP_SORTS:
		break;
	}
	return r->since.total_s;
}

/* The column asked for, then the others, then names: rows keep their places when nothing happens. */
static int row_order(const void *a, const void *b, void *by)
{
	static const enum top_sort next[] = { TOP_SELF_NOW, TOP_SELF, TOP_TOTAL_NOW, TOP_TOTAL };
	const struct live_row *x = *(const struct live_row *const *)a,
			      *y = *(const struct live_row *const *)b;
	double cx = cost(x, *(enum top_sort *)by), cy = cost(y, *(enum top_sort *)by);
	int order;

	for (size_t i = 0; cx == cy && i < sizeof next / sizeof *next; i++) {
		cx = cost(x, next[i]);
		cy = cost(y, next[i]);
	}
	if (cx != cy)
		return cx < cy ? 1 : -1;
	order = strcmp(x->name, y->name);
	return order ? order : x->line - y->line;
}

static bool passes(const char *filter, const struct live_row *r)
{
	struct buf text = BUF_INIT;
	bool is_in;

	if (!*filter)
		return true;
	buf_printf(&text, "%s %s:%d", r->name, r->file, r->line);
	is_in = strcasestr(buf_str(&text), filter) != NULL;
	buf_done(&text);
	return is_in;
}

const struct live_row **top_rows(const struct top *t, const struct live_view *v, size_t *ret_n)
{
	const struct live_row *all = t->table == TOP_LINES ? v->lines : v->functions;
	size_t n_all = t->table == TOP_LINES ? v->n_lines : v->n_functions, n = 0;
	const struct live_row **rows = xcalloc(n_all + 1, sizeof(struct live_row *));
	enum top_sort by = t->sort;

	for (size_t i = 0; i < n_all; i++)
		if (all[i].now.total_s + all[i].since.total_s > 1e-9 && passes(t->filter, &all[i]))
			rows[n++] = &all[i];
	qsort_r(rows, n, sizeof *rows, row_order, &by);
	*ret_n = n;
	return rows;
}

static int thread_order(const void *a, const void *b)
{
	const struct live_thread *x = *(const struct live_thread *const *)a,
				 *y = *(const struct live_thread *const *)b;
	double cx = units_is_known(x->cpu) ? x->cpu : 0, cy = units_is_known(y->cpu) ? y->cpu : 0;

	if (fabs(cx - cy) >= 0.005)
		return cx < cy ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

const struct live_thread **top_threads(const struct live_view *v, size_t *ret_n)
{
	const struct live_thread **threads =
		xcalloc(v->n_live_threads + 1, sizeof(struct live_thread *));
	size_t n = 0;

	for (size_t i = 0; i < v->n_live_threads; i++)
		if (v->threads[i].is_seen)
			threads[n++] = &v->threads[i];
	qsort(threads, n, sizeof *threads, thread_order);
	*ret_n = n;
	return threads;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void type_filter(struct top *t, uint32_t key)
{
	size_t n = strlen(t->filter);

	t->first = 0;
	if (key == KEY_ENTER || key == KEY_ESCAPE)
		t->is_typing = false;
	if (key == KEY_ESCAPE)
		t->filter[0] = '\0';
	if (key == KEY_ERASE && n == 0)
		t->is_typing = false;
	if (key == KEY_ERASE && n > 0) {
		do
			n--;
		while (n > 0 && ((unsigned char)t->filter[n] >> 6) == 2);
		t->filter[n] = '\0';
	}
	if (key >= 0x20 && key < 0x110000 && text_char_width(key) > 0 && n + 5 < sizeof t->filter) {
		struct buf typed = BUF_INIT;

		text_add_char(&typed, key);
		snprintf(t->filter + n, sizeof t->filter - n, "%s", buf_str(&typed));
		buf_done(&typed);
	}
}

static enum top_request leave(struct top *t)
{
	t->question = t->can_end ? TOP_ASKS_END : t->can_save ? TOP_ASKS_SAVE : TOP_ASKS_NOTHING;
	return t->question == TOP_ASKS_NOTHING ? TOP_QUIT : TOP_DRAW;
}

/* q again, or Enter, is the harmless answer: the program goes on, nothing is written. */
static enum top_request answer(struct top *t, uint32_t key)
{
	bool is_no = key == 'n' || key == 'q' || key == KEY_ENTER || key == 3;
	bool is_yes = key == 'y';

	if (key == KEY_ESCAPE) {
		t->question = TOP_ASKS_NOTHING;
		t->wants_end = false;
	}
	if (!is_yes && !is_no)
		return TOP_DRAW;
	if (t->question == TOP_ASKS_END) {
		t->wants_end = is_yes;
		t->question = TOP_ASKS_SAVE;
		return t->can_save ? TOP_DRAW : TOP_QUIT;
	}
	t->wants_save = is_yes;
	return TOP_QUIT;
}

/* Moves by rows; the drawing keeps it inside. */
static void scroll(struct top *t, long by)
{
	size_t *at = t->pane == TOP_THREADS ? &t->cursor : &t->first;

	*at = by < 0 && (size_t)-by > *at ? 0 : *at + (size_t)by;
}

static bool move(struct top *t, uint32_t key)
{
	long page = t->page_rows > 1 ? (long)t->page_rows - 1 : 1;

	switch (key) {
	case KEY_UP:
	case 'k':
		scroll(t, -1);
		return true;
	case KEY_DOWN:
	case 'j':
		scroll(t, 1);
		return true;
	case KEY_PAGE_UP:
		scroll(t, -page);
		return true;
	case KEY_PAGE_DOWN:
		scroll(t, page);
		return true;
	case KEY_HOME:
		t->first = t->cursor = 0;
		return true;
	case KEY_END:
		scroll(t, 1 << 24);
		return true;
	default:
		return false;
	}
}

static void show(struct top *t, enum top_pane pane)
{
	t->pane = t->pane == pane ? t->table : pane;
	if (t->pane == TOP_FUNCTIONS || t->pane == TOP_LINES)
		t->table = t->pane;
	t->first = t->cursor = 0;
}

static void choose_thread(struct top *t, const struct live_view *v)
{
	size_t n;
	const struct live_thread **threads = top_threads(v, &n);

	if (t->cursor < n) {
		t->select.pid = threads[t->cursor]->pid;
		t->select.tid = threads[t->cursor]->tid;
		show(t, t->table);
	}
	free(threads);
}

static void change_window(struct top *t, int by)
{
	static const double steps[] = { 1, 2, 5, 10, 20, 59 };
	int n = sizeof steps / sizeof *steps, at = 0;

	while (at < n - 1 && steps[at] < t->select.window_s)
		at++;
	at += by;
	t->select.window_s = steps[at < 0 ? 0 : at >= n ? n - 1 : at];
}

/* Other samples, or other sums of them. */
static bool choose(struct top *t, uint32_t key, const struct live_view *v)
{
	switch (key) {
	case 'c':
		t->select.state = STACKS_CPU;
		return true;
	case 'w':
		t->select.state = STACKS_WALL;
		return true;
	case 'g':
		t->select.state = STACKS_GIL;
		return true;
	case 'y':
		t->select.state = STACKS_RUNNABLE;
		return true;
	case 'a':
		t->select.pid = t->select.tid = 0;
		return true;
	case '+':
	case '=':
		change_window(t, 1);
		return true;
	case '-':
		change_window(t, -1);
		return true;
	case KEY_ENTER:
		if (t->pane != TOP_THREADS)
			return false;
		choose_thread(t, v);
		return true;
	default:
		return false;
	}
}

static void escape(struct top *t)
{
	if (t->pane != t->table)
		show(t, t->table);
	else
		t->filter[0] = '\0';
}

static void command(struct top *t, uint32_t key)
{
	switch (key) {
	case '1':
	case '2':
	case '3':
	case '4':
		t->sort = (enum top_sort)(key - '1');
		break;
	case 's':
		t->sort = (t->sort + 1) % TOP_SORTS;
		break;
	case '/':
	case 'f':
		show(t, t->table);
		t->pane = t->table;
		t->is_typing = true;
		break;
	case 'p':
	case ' ':
		t->is_paused = !t->is_paused;
		break;
	case 't':
		show(t, TOP_THREADS);
		break;
	case 'l':
		show(t, t->table == TOP_LINES ? TOP_FUNCTIONS : TOP_LINES);
		break;
	case 'o':
		show(t, TOP_OUTPUT);
		break;
	case '?':
	case 'h':
		show(t, TOP_HELP);
		break;
	case KEY_ESCAPE:
		escape(t);
		break;
	default:
		break;
	}
}

enum top_request top_key(struct top *t, uint32_t key, const struct live_view *v)
{
	if (t->question != TOP_ASKS_NOTHING)
		return answer(t, key);
	if (key == 3) /* Ctrl-C */
		return leave(t);
	if (t->is_typing) {
		type_filter(t, key);
		return TOP_DRAW;
	}
	if (key == 'q')
		return leave(t);
	if (key == 'r')
		return TOP_RESET;
	if (move(t, key))
		return TOP_DRAW;
	if (choose(t, key, v))
		return TOP_BUILD;
	command(t, key);
	return TOP_DRAW;
}
