/* SPDX-License-Identifier: MIT
 * See top_pick.h. */
#include "cmd/top_pick.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/terminal.h"
#include "sys/lookup.h"
#include "sys/proc.h"
#include "view/kit/grid.h"
#include "view/kit/keys.h"
#include "base/banned.h"

enum { LIST_AGAIN_MS = 2000, ESCAPE_MS = 50 };

struct choice {
	pid_t pid;
	char user[33];
	double cpu; /* of one core, since it started */
	double age_s;
	char command[1024];
};

struct pick {
	struct terminal *t;
	VEC(struct choice) all;
	size_t cursor;
	struct grid shown, next;
};

/* ---- the list -------------------------------------------------------------------------------- */

/* From the file: the C library's own way needs plug-ins, which a static program does not have. */
static void user_name(uid_t uid, const char *passwd, char to[33])
{
	char number[16];
	size_t n = (size_t)snprintf(number, sizeof number, ":%u:", (unsigned)uid);

	snprintf(to, 33, "%u", (unsigned)uid);
	while (passwd && *passwd) {
		size_t line = strcspn(passwd, "\n"), name = strcspn(passwd, ":\n");
		const char *second =
			memchr(passwd + name + (name < line), ':', line - name - (name < line));

		if (name < line && second && (size_t)(passwd + line - second) > n &&
			memcmp(second, number, n) == 0) {
			snprintf(to, 33, "%.*s", (int)(name < 32 ? name : 32), passwd);
			return;
		}
		passwd += line + (passwd[line] == '\n');
	}
}

static bool describe(pid_t pid, const char *passwd, struct choice *ret)
{
	char text[1024], path[64];
	struct proc_stat st;
	struct stat owner;
	struct timespec now;

	*ret = (struct choice){ .pid = pid };
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	if (proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) <= 0 ||
		!proc_stat_parse(text, &st) || stat(path, &owner) < 0 ||
		!proc_command(pid, ret->command, sizeof ret->command))
		return false;
	user_name(owner.st_uid, passwd, ret->user);
	clock_gettime(CLOCK_BOOTTIME, &now);
	ret->age_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)st.start_ns / 1e9;
	if (ret->age_s > 0)
		ret->cpu = (double)(st.user_ns + st.system_ns) / 1e9 / ret->age_s;
	return true;
}

static int busiest_first(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The cursor stays on its process. */
static void list(struct pick *p)
{
	pid_t chosen = p->cursor < p->all.n ? p->all.v[p->cursor].pid : 0;
	lookup_processes found = VEC_INIT;
	struct buf passwd = BUF_INIT;
	struct err ignored = ERR_INIT; /* numbers instead of names */
	struct choice c;

	if (buf_load(&passwd, "/etc/passwd", 1 << 20, &ignored) < 0)
		buf_clear(&passwd);
	lookup_all(NULL, &found);
	vec_clear(&p->all);
	vec_each (&found, f)
		if (describe(f->pid, buf_str(&passwd), &c))
			vec_push(&p->all, c);
	if (p->all.n)
		qsort(p->all.v, p->all.n, sizeof *p->all.v, busiest_first);
	for (size_t i = 0; i < p->all.n; i++)
		if (p->all.v[i].pid == chosen)
			p->cursor = i;
	if (p->cursor >= p->all.n)
		p->cursor = p->all.n ? p->all.n - 1 : 0;
	vec_done(&found);
	buf_done(&passwd);
}

/* ---- the screen ------------------------------------------------------------------------------ */

static void format_age(char to[24], double seconds)
{
	unsigned long s = seconds > 0 ? (unsigned long)seconds : 0;

	if (s >= 86400)
		snprintf(to, 24, "%lu d", s / 86400);
	else if (s >= 3600)
		snprintf(to, 24, "%lu h", s / 3600);
	else if (s >= 60)
		snprintf(to, 24, "%lu min", s / 60);
	else
		snprintf(to, 24, "%lu s", s);
}

static void draw_choice(struct grid *g, int row, const struct choice *c, bool is_chosen)
{
	char pid[16], cpu[16], age[24];
	int at;

	snprintf(pid, sizeof pid, "%d", (int)c->pid);
	snprintf(cpu, sizeof cpu, "%.0f", c->cpu * 100);
	format_age(age, c->age_s);
	at = grid_field_right(g, row, 0, 8, STYLE_PLAIN, pid) + 2;
	at = grid_field(g, row, at, 8, STYLE_PLAIN, TEXT_CUT_END, c->user);
	at = grid_field_right(g, row, at, 5, STYLE_PLAIN, cpu);
	at = grid_field_right(g, row, at, 8, STYLE_PLAIN, age) + 2;
	grid_field(g, row, at, g->columns - at, STYLE_PLAIN, TEXT_CUT_END, c->command);
	if (is_chosen)
		grid_style_row(g, row, STYLE_REVERSE);
}

static void draw(struct pick *p)
{
	struct grid *g = &p->next, before;
	struct buf bytes = BUF_INIT;
	int rows, columns;
	size_t page, first;

	terminal_size(p->t, &rows, &columns);
	grid_resize(g, rows, columns);
	page = rows > 4 ? (size_t)rows - 4 : 1;
	first = p->cursor >= page ? p->cursor - page + 1 : 0;
	grid_put(g, 0, grid_put(g, 0, 0, STYLE_ACCENT, "leadline top") + 1, STYLE_BOLD,
		"Which Python process?");
	grid_put(g, 2, 0, STYLE_DIM, "     pid  user     CPU%     age  command");
	for (size_t i = 0; i < page && first + i < p->all.n; i++)
		draw_choice(g, 3 + (int)i, &p->all.v[first + i], first + i == p->cursor);
	grid_field(g, rows - 1, 0, columns, STYLE_DIM, TEXT_CUT_END,
		"↑ ↓ choose  Enter watch  q quit");
	grid_diff(&p->shown, g, p->t->colour, &bytes);
	terminal_write(p->t, &bytes);
	buf_done(&bytes);
	before = p->shown;
	p->shown = *g;
	p->next = before;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* false: the choice is made; *ret_pid 0: none. */
static bool take_key(struct pick *p, uint32_t key, pid_t *ret_pid)
{
	*ret_pid = 0;
	switch (key) {
	case KEY_UP:
	case 'k':
		p->cursor -= p->cursor > 0;
		return true;
	case KEY_DOWN:
	case 'j':
		p->cursor += p->cursor + 1 < p->all.n;
		return true;
	case KEY_HOME:
		p->cursor = 0;
		return true;
	case KEY_END:
		p->cursor = p->all.n ? p->all.n - 1 : 0;
		return true;
	case KEY_ENTER:
		*ret_pid = p->cursor < p->all.n ? p->all.v[p->cursor].pid : 0;
		return *ret_pid == 0;
	case 'q':
	case KEY_ESCAPE:
	case 3: /* Ctrl-C */
		return false;
	default:
		return true;
	}
}

static pid_t choose(struct pick *p)
{
	char bytes[64];
	size_t n = 0;
	pid_t pid = 0;

	for (bool goes_on = true; goes_on && !p->t->has_hung_up;) {
		struct pollfd in = { .fd = p->t->in, .events = POLLIN };
		size_t at = 0, used;
		uint32_t key;
		int ready;

		draw(p);
		ready = poll(&in, 1, n ? ESCAPE_MS : LIST_AGAIN_MS);
		if (ready == 0 && !n)
			list(p);
		n += terminal_read(p->t, bytes + n, sizeof bytes - n);
		while (goes_on && at < n &&
			(used = keys_decode(bytes + at, n - at, ready == 0, &key)) > 0) {
			at += used;
			goes_on = take_key(p, key, &pid);
		}
		memmove(bytes, bytes + at, n - at);
		n -= at;
	}
	return pid;
}

int top_pick(struct terminal *t, pid_t *ret_pid, struct err *e)
{
	struct pick p = { .t = t };

	list(&p);
	if (p.all.n == 0)
		return err_set(e, ERR_NO_PROCESS,
			"no Python process is running here; to start one: leadline top script.py");
	terminal_enter(t);
	*ret_pid = choose(&p);
	terminal_leave(t);
	vec_done(&p.all);
	grid_done(&p.shown);
	grid_done(&p.next);
	return 0;
}
