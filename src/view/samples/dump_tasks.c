/* SPDX-License-Identifier: MIT
 * See dump_tasks.h. A task that several await is shown under the first of them, and named under the
 * others. */
#include "view/samples/dump_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "analyze/samples/snapshots.h"
#include "view/samples/dump.h"
#include "view/kit/style.h"
#include "base/banned.h"

enum { DEPTH_MOST = 20, NAMES_SHOWN = 6 };

struct tree {
	const struct snapshot *p;
	const struct dump_view *v;
	struct buf *out;
	bool *is_shown;
	size_t *n_awaited; /* how many tasks each one awaits */
};

/* names: of all n at the same place. */
static void print_head(const struct tree *t, const struct snapshot_task *task, size_t n,
	const char *names, unsigned depth)
{
	static const char *const states[] = { [COROUTINE_CREATED] = "not begun",
		[COROUTINE_SUSPENDED] = "waiting",
		[COROUTINE_RUNNING] = "running",
		[COROUTINE_ENDED] = "done" };

	buf_fill(t->out, ' ', depth * 4);
	style_begin(t->out, STYLE_ACCENT, t->v->colour);
	if (n > 1)
		buf_printf(t->out, "%zu tasks at the same place: %s", n, names);
	else
		buf_printf(t->out, "Task %s", names);
	style_end(t->out, STYLE_ACCENT, t->v->colour);
	buf_printf(t->out, "%s%s", n > 1 ? "; " : ": ", states[task->state]);
	if (task->state == COROUTINE_SUSPENDED && *task->waits_for) {
		buf_adds(t->out, " for ");
		text_add_printable(t->out, task->waits_for, strlen(task->waits_for));
	}
	if (task->n_awaiters > 1) {
		buf_printf(t->out, ", awaited by %zu tasks", task->n_awaiters);
	}
	buf_addc(t->out, '\n');
}

static bool is_awaited_by(const struct snapshot_task *task, size_t awaiter)
{
	for (size_t i = 0; i < task->n_awaiters; i++)
		if (task->awaiters[i] == awaiter)
			return true;
	return false;
}

static bool has_awaited(const struct tree *t, size_t index)
{
	return t->n_awaited[index] > 0;
}

static bool is_same_place(const struct snapshot_task *a, const struct snapshot_task *b)
{
	if (a->state != b->state || a->stack.n != b->stack.n || a->stack.state != b->stack.state)
		return false;
	for (size_t i = 0; i < a->stack.n; i++) {
		const struct snapshot_frame *f = &a->stack.frames[i], *g = &b->stack.frames[i];

		if (f->at.line != g->at.line || strcmp(f->function, g->function) != 0 ||
			strcmp(f->file, g->file) != 0 || f->n_locals || g->n_locals)
			return false;
	}
	return true;
}

static bool is_child(const struct tree *t, size_t index, size_t parent)
{
	const struct snapshot_task *task = &t->p->tasks[index];

	return parent == SIZE_MAX ? task->n_awaiters == 0 : is_awaited_by(task, parent);
}

static void add_name(struct buf *names, size_t n, const char *name)
{
	if (n > NAMES_SHOWN)
		return;
	if (n == NAMES_SHOWN) {
		buf_adds(names, ", …");
		return;
	}
	buf_adds(names, n ? ", " : "");
	text_add_printable(names, name, strlen(name));
}

/* Marks the later ones under the same parent that stand at the same place and await no task; names gets
 * theirs, too. How many they are with the first. */
static size_t fold(struct tree *t, size_t index, size_t parent, struct buf *names)
{
	size_t n = 1;

	add_name(names, 0, t->p->tasks[index].name);
	if (has_awaited(t, index))
		return 1;
	for (size_t i = index + 1; i < t->p->n_tasks; i++)
		if (!t->is_shown[i] && is_child(t, i, parent) && !has_awaited(t, i) &&
			is_same_place(&t->p->tasks[index], &t->p->tasks[i])) {
			t->is_shown[i] = true;
			add_name(names, n++, t->p->tasks[i].name);
		}
	return n;
}

/* A task and those it awaits; with parent SIZE_MAX one that nobody awaits. */
static void print_task(struct tree *t, size_t index, size_t parent, unsigned depth)
{
	const struct snapshot_task *task = &t->p->tasks[index];
	char indent[4 * DEPTH_MOST + 8];
	struct buf names = BUF_INIT;
	size_t n;

	if (t->is_shown[index]) {
		add_name(&names, 0, task->name);
		print_head(t, task, 1, buf_str(&names), depth);
		buf_fill(t->out, ' ', depth * 4 + 2);
		style_add(t->out, STYLE_DIM, t->v->colour, "shown above\n");
		buf_done(&names);
		return;
	}
	t->is_shown[index] = true;
	n = fold(t, index, parent, &names);
	print_head(t, task, n, buf_str(&names), depth);
	buf_done(&names);
	snprintf(indent, sizeof indent, "%*s", (int)(depth * 4 + 2), "");
	dump_print_stack(&task->stack, indent, t->v, t->out);
	if (depth + 1 == DEPTH_MOST || !has_awaited(t, index))
		return;
	for (size_t i = 0; i < t->p->n_tasks; i++)
		if (is_awaited_by(&t->p->tasks[i], index) &&
			(!t->is_shown[i] || t->p->tasks[i].n_awaiters > 1))
			print_task(t, i, index, depth + 1);
}

void dump_print_tasks(const struct snapshot *p, const struct dump_view *v, struct buf *out)
{
	struct tree t = { .p = p, .v = v, .out = out };

	if (!p->n_tasks)
		return;
	t.is_shown = xcalloc(p->n_tasks, sizeof *t.is_shown);
	t.n_awaited = xcalloc(p->n_tasks, sizeof *t.n_awaited);
	for (size_t i = 0; i < p->n_tasks; i++)
		for (size_t k = 0; k < p->tasks[i].n_awaiters; k++)
			t.n_awaited[p->tasks[i].awaiters[k]]++;
	style_add(out, STYLE_BOLD, v->colour, "\nTasks of process %d", (int)p->pid);
	buf_adds(out, ", each under the one that awaits it\n");
	for (size_t i = 0; i < p->n_tasks; i++)
		if (!p->tasks[i].n_awaiters && !t.is_shown[i]) {
			buf_addc(out, '\n');
			print_task(&t, i, SIZE_MAX, 0);
		}
	for (size_t i = 0; i < p->n_tasks; i++) /* those that only await each other */
		if (!t.is_shown[i]) {
			buf_addc(out, '\n');
			print_task(&t, i, SIZE_MAX, 0);
		}
	free(t.n_awaited);
	free(t.is_shown);
}
