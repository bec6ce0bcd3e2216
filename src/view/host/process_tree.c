/* SPDX-License-Identifier: MIT
 * See process_tree.h. Equal siblings are folded into one line ("500 × true"), so a build or a loop
 * of small commands stays readable. */
#include "view/host/process_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/table.h"
#include "base/units.h"
#include "base/vec.h"
#include "view/host/usage.h"
#include "base/banned.h"

enum { FOLD_FROM = 4, LINES_MOST = 200 };

struct node {
	long first_child, next; /* indices of siblings in order, -1 = none */
	long last_child;
};

struct page {
	const struct usage *u;
	struct node *nodes; /* one per process, and one more: the parent of those without */
	struct table *table;
	size_t n_lines, left_out;
};

static void link_children(struct page *p)
{
	/* pid → index: pids may be reused, the latest is the parent */
	struct map newest = MAP_INIT;
	size_t n = p->u->n_processes;

	for (size_t i = 0; i <= n; i++)
		p->nodes[i] = (struct node){ -1, -1, -1 };
	for (size_t i = 0; i < n; i++) {
		uint64_t parent = n;
		struct node *above;

		map_find(&newest, p->u->processes[i].parent, &parent);
		above = &p->nodes[parent];
		if (above->last_child >= 0)
			p->nodes[above->last_child].next = (long)i;
		else
			above->first_child = (long)i;
		above->last_child = (long)i;
		map_put(&newest, p->u->processes[i].pid, i);
	}
	map_done(&newest);
}

static const char *exit_text(const struct usage_process *p, char text[32])
{
	if (p->is_running)
		return "running";
	if (p->status < 0)
		return "–";
	if (WIFSIGNALED(p->status))
		snprintf(text, 32, "SIG%s",
			sigabbrev_np(WTERMSIG(p->status)) ? sigabbrev_np(WTERMSIG(p->status))
							  : "?");
	else
		snprintf(text, 32, "%d", WEXITSTATUS(p->status));
	return text;
}

/* A figure seen last before the process vanished is a lower bound. */
static void add_figure(struct table *t, enum unit unit, double value, bool is_exact)
{
	char text[UNITS_TEXT];

	if (is_exact || !units_is_known(value))
		table_cell_unit(t, unit, value);
	else
		table_cell(t, "≥ %s", units_format(text, unit, value));
}

static void add_line(struct page *p, const struct usage_process *x, size_t count, unsigned depth)
{
	char text[32];
	struct buf name = BUF_INIT;

	if (p->n_lines >= LINES_MOST) {
		p->left_out += count;
		return;
	}
	p->n_lines++;
	buf_fill(&name, ' ', 2 * (depth < 10 ? depth : 10));
	if (count > 1)
		buf_printf(&name, "%zu × ", count);
	if (x->rank >= 0)
		buf_printf(&name, "rank %d: ", x->rank);
	buf_adds(&name, *x->command ? x->command : "(ended before it was seen)");
	table_cell(p->table, "%s", buf_str(&name));
	if (count > 1)
		table_cell(p->table, "–");
	else
		table_cell(p->table, "%u", x->pid);
	table_cell_unit(p->table, UNIT_SECONDS, x->start_s);
	table_cell_unit(p->table, UNIT_SECONDS, x->end_s - x->start_s);
	add_figure(p->table, UNIT_SECONDS, x->user_s, x->is_exact || x->is_running);
	add_figure(p->table, UNIT_SECONDS, x->system_s, x->is_exact || x->is_running);
	add_figure(p->table, UNIT_BYTES, x->max_rss_bytes, x->is_exact);
	table_cell(p->table, "%s", count > 1 ? "" : exit_text(x, text));
	buf_done(&name);
}

static void add_known(double *sum, double v)
{
	if (units_is_known(v))
		*sum = units_is_known(*sum) ? *sum + v : v;
}

/* The siblings from `first` with its command and no children of their own, folded: their number,
 * and a process that stands for all. */
static size_t fold(const struct page *p, long first, struct usage_process *ret, long *ret_next)
{
	const struct usage_process *all = p->u->processes;
	size_t count = 1;
	long at = first;

	*ret = all[first];
	for (;;) {
		long next = p->nodes[at].next;

		if (p->nodes[at].first_child >= 0 || next < 0 || p->nodes[next].first_child >= 0 ||
			strcmp(all[next].command, all[first].command) != 0 ||
			all[next].rank != all[first].rank)
			break;
		at = next;
		count++;
		add_known(&ret->user_s, all[at].user_s);
		add_known(&ret->system_s, all[at].system_s);
		ret->end_s = fmax(ret->end_s, all[at].end_s);
		ret->max_rss_bytes = fmax(ret->max_rss_bytes, all[at].max_rss_bytes);
	}
	*ret_next = p->nodes[at].next;
	return count;
}

/* Depth first without recursion: the tree is foreign input and may be deep. */
static void walk(struct page *p)
{
	VEC(long) path = VEC_INIT;

	vec_push(&path, p->nodes[p->u->n_processes].first_child);
	while (path.n) {
		long at = path.v[path.n - 1], next;
		struct usage_process folded;
		size_t count;

		if (at < 0) {
			path.n--;
			continue;
		}
		count = fold(p, at, &folded, &next);
		if (count < FOLD_FROM) {
			count = 1;
			folded = p->u->processes[at];
			next = p->nodes[at].next;
		}
		add_line(p, &folded, count, (unsigned)path.n - 1);
		path.v[path.n - 1] = next;
		if (count == 1 && p->nodes[at].first_child >= 0)
			vec_push(&path, p->nodes[at].first_child);
	}
	vec_done(&path);
}

/* What the totals hold beyond the figures of processes: short-lived ones that no look found, and what
 * others did after the last look at them. */
static void add_rest(struct page *p)
{
	double user = p->u->user_s, system = p->u->system_s;

	for (size_t i = 0; i < p->u->n_processes; i++) {
		add_known(&user, -p->u->processes[i].user_s);
		add_known(&system, -p->u->processes[i].system_s);
	}
	if (!(fmax(user, 0) + fmax(system, 0) >= 0.0005))
		return;
	table_cell(p->table, "[rest]");
	for (int i = 0; i < 3; i++)
		table_cell(p->table, "–");
	table_cell_unit(p->table, UNIT_SECONDS, fmax(user, 0));
	table_cell_unit(p->table, UNIT_SECONDS, fmax(system, 0));
	table_cell(p->table, "–");
	table_cell(p->table, "%s", "");
}

void process_tree_print(const struct usage *u, const struct usage_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "process", TABLE_LEFT, TEXT_CUT_END, 12 },
		{ "pid", TABLE_RIGHT, TEXT_CUT_END, 0, 3 },
		{ "start", TABLE_RIGHT, TEXT_CUT_END, 0, 2 },
		{ "wall", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "user", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "system", TABLE_RIGHT, TEXT_CUT_END, 0, 5 },
		{ "max RSS", TABLE_RIGHT, TEXT_CUT_END, 0, 4 },
		{ "exit", TABLE_RIGHT, TEXT_CUT_END, 0 },
	};
	struct page p = { .u = u,
		.nodes = xcalloc(u->n_processes + 1, sizeof *p.nodes),
		.table = table_new(columns, sizeof columns / sizeof *columns) };

	link_children(&p);
	walk(&p);
	add_rest(&p);
	buf_adds(out,
		"\n"
		"Processes (own CPU time in steps of 10 ms; [rest]: CPU time not seen in any of them)\n");
	table_emit(p.table, out, v->width, v->colour);
	if (p.left_out)
		buf_printf(out, "… and %zu more\n", p.left_out);
	table_free(p.table);
	free(p.nodes);
}
