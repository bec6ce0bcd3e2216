/* SPDX-License-Identifier: MIT
 * See dump_tasks.h. A task that several await is shown under the first of them, and named under the
 * others. */
#include "view/dump_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "analyze/snapshots.h"
#include "view/dump.h"
#include "view/style.h"
#include "base/banned.h"

enum { DEPTH_MOST = 20 };

struct tree {
	const struct snapshot *p;
	const struct dump_view *v;
	struct buf *out;
	bool *is_shown;
};

static void print_head(const struct tree *t, const struct snapshot_task *task, unsigned depth)
{
	static const char *const states[] = { [COROUTINE_CREATED] = "not begun",
		[COROUTINE_SUSPENDED] = "waiting",
		[COROUTINE_RUNNING] = "running",
		[COROUTINE_ENDED] = "done" };

	buf_fill(t->out, ' ', depth * 4);
	style_begin(t->out, STYLE_ACCENT, t->v->colour);
	buf_adds(t->out, "Task ");
	text_add_printable(t->out, task->name, strlen(task->name));
	style_end(t->out, STYLE_ACCENT, t->v->colour);
	buf_printf(t->out, ": %s", states[task->state]);
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

static void print_task(struct tree *t, size_t index, unsigned depth)
{
	const struct snapshot_task *task = &t->p->tasks[index];
	char indent[4 * DEPTH_MOST + 8];

	print_head(t, task, depth);
	if (t->is_shown[index]) {
		buf_fill(t->out, ' ', depth * 4 + 2);
		style_add(t->out, STYLE_DIM, t->v->colour, "shown above\n");
		return;
	}
	t->is_shown[index] = true;
	snprintf(indent, sizeof indent, "%*s", (int)(depth * 4 + 2), "");
	dump_print_stack(&task->stack, indent, t->v, t->out);
	if (depth + 1 == DEPTH_MOST)
		return;
	for (size_t i = 0; i < t->p->n_tasks; i++)
		if (is_awaited_by(&t->p->tasks[i], index))
			print_task(t, i, depth + 1);
}

void dump_print_tasks(const struct snapshot *p, const struct dump_view *v, struct buf *out)
{
	struct tree t = { .p = p, .v = v, .out = out };

	if (!p->n_tasks)
		return;
	t.is_shown = xcalloc(p->n_tasks, sizeof *t.is_shown);
	style_add(out, STYLE_BOLD, v->colour, "\nTasks of process %d", (int)p->pid);
	buf_adds(out, ", each under the one that awaits it\n");
	for (size_t i = 0; i < p->n_tasks; i++)
		if (!p->tasks[i].n_awaiters) {
			buf_addc(out, '\n');
			print_task(&t, i, 0);
		}
	for (size_t i = 0; i < p->n_tasks; i++) /* those that only await each other */
		if (!t.is_shown[i]) {
			buf_addc(out, '\n');
			print_task(&t, i, 0);
		}
	free(t.is_shown);
}
