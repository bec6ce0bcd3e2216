/* SPDX-License-Identifier: MIT
 * See dump.h. */
#include "view/samples/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/snapshots.h"
#include "base/buf.h"
#include "base/text.h"
#include "view/kit/style.h"
#include "view/samples/dump_tasks.h"
#include "base/banned.h"

enum { MEMBERS_SHOWN = 8, STATES_MOST = 1000, PROCESSES_SHOWN = 20 };

/* ---- one frame ------------------------------------------------------------------------------- */

/* Columns that the first n bytes take once made printable. */
static size_t shown_width(const char *text, size_t n)
{
	struct buf b = BUF_INIT;
	size_t width;

	text_add_printable(&b, text, n);
	width = text_width(buf_str(&b));
	buf_done(&b);
	return width;
}

/* Marks the part of the line that runs, unless that is all of it. */
static void print_carets(const struct snapshot_frame *f, size_t skip, const char *indent,
	const struct dump_view *v, struct buf *out)
{
	size_t n = strlen(f->source), from = (size_t)f->at.column, to = (size_t)f->at.end_column,
	       last = n;

	while (last > skip && strchr(" \t", f->source[last - 1]))
		last--;
	if (f->at.column < 0 || f->at.end_line != f->at.line || from < skip || to > n ||
		to <= from || (from == skip && to >= last))
		return;
	buf_adds(out, indent);
	buf_fill(out, ' ', shown_width(f->source + skip, from - skip));
	style_begin(out, STYLE_ACCENT, v->colour);
	buf_fill(out, '^', shown_width(f->source + from, to - from));
	style_end(out, STYLE_ACCENT, v->colour);
	buf_addc(out, '\n');
}

static void print_source(const struct snapshot_frame *f, const char *indent,
	const struct dump_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;
	size_t skip, room = v->width > 40 ? v->width - text_width(indent) : 40;

	if (!f->source)
		return;
	skip = strspn(f->source, " \t\f");
	text_add_printable(&text, f->source + skip, strlen(f->source + skip));
	buf_adds(out, indent);
	style_begin(out, STYLE_PLAIN, v->colour);
	text_add_cut(out, buf_str(&text), room, TEXT_CUT_END);
	style_end(out, STYLE_PLAIN, v->colour);
	buf_addc(out, '\n');
	if (text_width(buf_str(&text)) <= room)
		print_carets(f, skip, indent, v, out);
	buf_done(&text);
}

static void print_locals(const struct snapshot_frame *f, const char *indent,
	const struct dump_view *v, struct buf *out)
{
	static const char *const kinds[] = {
		[LOCAL_ARGUMENT] = "argument", [LOCAL_PLAIN] = "local", [LOCAL_FREE] = "outer"
	};

	for (size_t i = 0; i < f->n_locals; i++) {
		const struct snapshot_local *l = &f->locals[i];

		buf_adds(out, indent);
		style_add(out, STYLE_DIM, v->colour, "%-8s ", kinds[l->kind]);
		text_add_printable(out, l->name, strlen(l->name));
		buf_adds(out, " = ");
		text_add_printable(out, l->value, strlen(l->value));
		buf_addc(out, '\n');
	}
}

void dump_print_frame(const struct snapshot_frame *f, const char *indent, const struct dump_view *v,
	struct buf *out)
{
	char inner[128];

	snprintf(inner, sizeof inner, "%s    ", indent);
	buf_adds(out, indent);
	style_begin(out, STYLE_BOLD, v->colour);
	text_add_printable(out, f->function, strlen(f->function));
	style_end(out, STYLE_BOLD, v->colour);
	style_begin(out, STYLE_DIM, v->colour);
	buf_adds(out, "  ");
	text_add_printable(out, f->file, strlen(f->file));
	if (f->at.line >= 0)
		buf_printf(out, ":%d", f->at.line);
	if (f->at.column >= 0)
		buf_printf(out, ":%d", f->at.column + 1);
	style_end(out, STYLE_DIM, v->colour);
	buf_addc(out, '\n');
	print_source(f, inner, v, out);
	print_locals(f, inner, v, out);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void add_state(const struct snapshot_thread *t, struct buf *out)
{
	const char *what = t->run_state == 'R'               ? "on CPU"
		: t->run_state == 'D'                        ? "waiting for a disk"
		: t->run_state == 'T' || t->run_state == 't' ? "stopped"
		: t->run_state == 'Z'                        ? "ended"
		: t->run_state                               ? "idle"
							     : "";

	buf_adds(out, what);
	if (t->is_collecting)
		buf_printf(out, "%sin garbage collection", *what ? ", " : "");
	if (t->holds_gil)
		buf_printf(out, "%sholds the GIL", *what || t->is_collecting ? ", " : "");
	if (t->waits_for_gil)
		buf_printf(out, "%swaits for the GIL", *what ? ", " : "");
}

/* 4712 "worker-0", and of which process and interpreter where there are several. */
static void add_thread_name(
	const struct snapshots *s, const struct snapshot_member *m, struct buf *out)
{
	const struct snapshot *p = s->v[m->process];
	const struct snapshot_thread *t = snapshots_thread(s, m);

	if (t->tid)
		buf_printf(out, " %d", (int)t->tid);
	if (t->name) {
		buf_adds(out, " \"");
		text_add_printable(out, t->name, strlen(t->name));
		buf_addc(out, '"');
	}
	if (s->n > 1)
		buf_printf(out, " of process %d", (int)p->pid);
	if (s->n > 1 && *p->rank)
		buf_printf(out, " (rank %s)", p->rank);
	if (p->n_interpreters > 1)
		buf_printf(out, " in interpreter %lld", (long long)t->interpreter);
}

static void print_thread_head(const struct snapshots *s, const struct snapshot_member *m,
	const struct dump_view *v, struct buf *out)
{
	struct buf state = BUF_INIT;

	style_begin(out, STYLE_ACCENT, v->colour);
	buf_adds(out, "Thread");
	add_thread_name(s, m, out);
	style_end(out, STYLE_ACCENT, v->colour);
	add_state(snapshots_thread(s, m), &state);
	if (state.n)
		buf_printf(out, ": %s", buf_str(&state));
	buf_addc(out, '\n');
	buf_done(&state);
}

void dump_print_stack(const struct snapshot_stack *st, const char *indent,
	const struct dump_view *v, struct buf *out)
{
	if (st->state == STACK_EMPTY)
		style_add(out, STYLE_DIM, v->colour, "%sno Python code\n", indent);
	if (st->state == STACK_LOST)
		style_add(out, STYLE_WARNING, v->colour,
			"%sits stack changed each time it was looked at\n", indent);
	if (st->state == STACK_MOVING)
		style_add(out, STYLE_WARNING, v->colour,
			"%s[cut]  it calls and returns too fast: its callees are left out\n",
			indent);
	for (size_t i = 0; i < st->n; i++)
		dump_print_frame(&st->frames[i], indent, v, out);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

/* "ranks 0-2, 4-7", or "processes 11, 12 … and 3 more". */
static void add_members(const struct snapshots *s, const struct snapshot_group *g, struct buf *out)
{
	long *numbers = malloc(g->n * sizeof *numbers);
	bool are_ranks = true;

	if (!numbers)
		return;
	for (size_t i = 0; i < g->n; i++)
		are_ranks &= *s->v[g->members[i].process]->rank != '\0';
	for (size_t i = 0; i < g->n; i++) {
		const struct snapshot *p = s->v[g->members[i].process];

		numbers[i] = are_ranks ? strtol(p->rank, NULL, 10) : (long)p->pid;
	}
	qsort(numbers, g->n, sizeof *numbers, compare_ranks);
	buf_printf(out, "%s",
		are_ranks ? (g->n == 1 ? "rank" : "ranks") : (g->n == 1 ? "process" : "processes"));
	for (size_t i = 0, shown = 0; i < g->n; shown++) {
		size_t end = i;

		while (end + 1 < g->n && numbers[end + 1] == numbers[end] + 1)
			end++;
		if (shown == MEMBERS_SHOWN) {
			buf_printf(out, " and %zu more", g->n - i);
			break;
		}
		buf_printf(out, "%s%ld", shown ? ", " : " ", numbers[i]);
		if (end > i)
			buf_printf(out, "%s%ld", end > i + 1 ? "-" : ", ", numbers[end]);
		i = end + 1;
	}
	free(numbers);
}

/* How many of them do what: "3 idle, 1 on CPU". */
static void add_states(const struct snapshots *s, const struct snapshot_group *g, struct buf *out)
{
	struct buf state = BUF_INIT, other = BUF_INIT;

	for (size_t i = 0, said = 0; i < g->n; i++) {
		size_t same = 0;
		bool is_first = true;

		buf_clear(&state);
		add_state(snapshots_thread(s, &g->members[i]), &state);
		for (size_t k = 0; k < g->n; k++) {
			buf_clear(&other);
			add_state(snapshots_thread(s, &g->members[k]), &other);
			if (strcmp(buf_str(&state), buf_str(&other)) == 0) {
				is_first &= k >= i;
				same++;
			}
		}
		if (is_first && state.n) {
			buf_adds(out, said++ ? ", " : "; ");
			if (same < g->n)
				buf_printf(out, "%zu ", same);
			buf_adds(out, buf_str(&state));
		}
	}
	buf_done(&state);
	buf_done(&other);
}

static void print_group_head(const struct snapshots *s, const struct snapshot_group *g,
	const struct dump_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;

	if (g->n == 1) {
		print_thread_head(s, &g->members[0], v, out);
		return;
	}
	style_begin(out, STYLE_ACCENT, v->colour);
	buf_printf(out, "%zu %sthreads at the same place:", g->n, g->is_main ? "main " : "");
	style_end(out, STYLE_ACCENT, v->colour);
	if (s->n > 1) {
		buf_addc(&text, ' ');
		add_members(s, g, &text);
	} else {
		for (size_t i = 0; i < g->n && i < MEMBERS_SHOWN; i++) {
			buf_adds(&text, i ? "," : "");
			add_thread_name(s, &g->members[i], &text);
		}
		if (g->n > MEMBERS_SHOWN)
			buf_printf(&text, " and %zu more", g->n - MEMBERS_SHOWN);
	}
	if (g->n <= STATES_MOST)
		add_states(s, g, &text);
	buf_adds(out, buf_str(&text));
	buf_addc(out, '\n');
	buf_done(&text);
}

static const char *where(const struct snapshot_thread *t)
{
	return t->stack.n                       ? t->stack.frames[0].function
		: t->stack.state == STACK_EMPTY ? "no Python code"
						: "a stack that moves";
}

/* "7 of 8 in all_reduce: ranks 0-2, 4-7". */
static void print_overview(const struct snapshots *s, const struct dump_view *v, struct buf *out)
{
	style_add(out, STYLE_BOLD, v->colour, "%zu processes\n", s->n);
	for (size_t i = 0; i < s->n_main_groups; i++) {
		const struct snapshot_group *g = &s->groups[i];
		const struct snapshot_thread *t = snapshots_thread(s, &g->members[0]);

		buf_printf(out, "  %zu in ", g->n);
		style_begin(out, STYLE_BOLD, v->colour);
		text_add_printable(out, where(t), strlen(where(t)));
		style_end(out, STYLE_BOLD, v->colour);
		buf_adds(out, ": ");
		add_members(s, g, out);
		buf_addc(out, '\n');
	}
	buf_addc(out, '\n');
}

static void print_process(const struct snapshot *p, const struct dump_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;

	text_add_printable(&text, p->command, strlen(p->command));
	style_begin(out, STYLE_BOLD, v->colour);
	buf_printf(out, "Process %d: ", (int)p->pid);
	text_add_cut(out, buf_str(&text), v->width > 40 ? v->width - 20 : 40, TEXT_CUT_END);
	style_end(out, STYLE_BOLD, v->colour);
	buf_addc(out, '\n');
	if (p->core) {
		buf_adds(out, "core file ");
		text_add_printable(out, p->core, strlen(p->core));
		if (p->signal)
			buf_printf(out, ", killed by signal %d (SIG%s)", p->signal,
				sigabbrev_np(p->signal) ? sigabbrev_np(p->signal) : "?");
		buf_addc(out, '\n');
	}
	buf_adds(out, p->interpreter);
	if (*p->rank)
		buf_printf(out, ", rank %s", p->rank);
	if (p->n_interpreters > 1)
		buf_printf(out, ", %zu interpreters", p->n_interpreters);
	buf_printf(out, ", %zu thread%s", p->n_threads, p->n_threads == 1 ? "" : "s");
	if (p->n_tasks)
		buf_printf(out, ", %zu task%s", p->n_tasks, p->n_tasks == 1 ? "" : "s");
	buf_addc(out, '\n');
	buf_done(&text);
}

static void print_processes(const struct snapshots *s, const struct dump_view *v, struct buf *out)
{
	for (size_t i = 0; i < s->n && i < PROCESSES_SHOWN; i++) {
		const struct snapshot *p = s->v[i];
		struct buf text = BUF_INIT;

		text_add_printable(&text, p->command, strlen(p->command));
		buf_printf(out, "%7d  ", (int)p->pid);
		if (*p->rank)
			buf_printf(out, "rank %s  ", p->rank);
		buf_printf(out, "%s  ", p->interpreter);
		style_begin(out, STYLE_DIM, v->colour);
		text_add_cut(
			out, buf_str(&text), v->width > 60 ? v->width - 30 : 30, TEXT_CUT_MIDDLE);
		style_end(out, STYLE_DIM, v->colour);
		buf_addc(out, '\n');
		buf_done(&text);
	}
	if (s->n > PROCESSES_SHOWN)
		buf_printf(out, "… and %zu more\n", s->n - PROCESSES_SHOWN);
}

void dump_print(const struct snapshots *s, const struct dump_view *v, struct buf *out)
{
	if (s->n > 1) {
		print_overview(s, v, out);
		print_processes(s, v, out);
	} else {
		print_process(s->v[0], v, out);
	}
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct snapshot_group *g = &s->groups[i];

		buf_addc(out, '\n');
		print_group_head(s, g, v, out);
		dump_print_stack(&snapshots_thread(s, &g->members[0])->stack, "  ", v, out);
	}
	for (size_t i = 0; i < s->n; i++)
		dump_print_tasks(s->v[i], v, out);
}
