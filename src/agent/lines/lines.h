/* SPDX-License-Identifier: MIT
 *
 * Exact line counts and times of selected functions: the arithmetic, without Python. Whoever gets
 * the interpreter's events (line_hooks.c) tells here what happened in the calling thread:
 *
 *	lines_enter(t, key, code, now)		an activation begins (a call) …
 *	lines_resume(t, key, code, line, now)	… or goes on where it was suspended
 *	lines_at(t, line, now)			the top activation begins a line
 *	lines_leave(t, now)			the top activation returns, yields or unwinds
 *
 * Each thread has a shadow stack of its activations of selected functions; an activation holds the
 * line it is in. So a recursive call does not disturb its caller's line, and what a line spends
 * below it in other selected functions is told apart from its own. One clock reading per event.
 *
 * A suspended generator or coroutine is not on the stack and has no state here: its line is found
 * again from the instruction it resumes at. It may resume in another thread.
 *
 * Events may be missing (a profiler that starts in the middle, greenlets, an exception thrown in):
 * lines_find() tells whether an activation is on the stack and closes those above it; a line of one
 * that is not can be opened after lines_resume(). Hits stay exact then, times lose little.
 *
 * Deeper than LINES_DEPTH_MAX, activations are not put on the stack, and their events look like
 * missing ones: hits stay exact, times do not. */
#ifndef AGENT_LINES_LINES_H
#define AGENT_LINES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/line_area.h"

enum { LINES_DEPTH_MAX = 1 << 17 };

struct trace_node;

struct lines_frame {
	const void *key;         /* the activation: its frame, or its code object */
	struct line_cell *cells; /* cell 0: the function */
	struct line_cell *open;  /* the line it is in; NULL before the first */
	uint64_t opened;         /* stamp */
	uint64_t entered;
	uint32_t first_line;
	uint32_t n_cells;
	/* Of lines_calls: where its own time is counted as well, and how much of that is credited. NULL: nowhere. */
	const struct trace_node *node;
	uint64_t seen;
};

/* Calls are traced beside lines: then what functions that are not selected take is told apart, too. */
struct lines_calls {
	void (*open)(struct lines_frame *f, uint64_t now); /* finds the node */
	uint64_t (*ran)(
		struct lines_frame *f, uint64_t now); /* own time since then, or the last ran */
};

struct lines_thread {
	struct lines_frame *top; /* bottom: none */
	struct lines_frame *bottom, *limit;
	uint64_t *last;                  /* stamp of the latest event, in the sparse area */
	const struct lines_calls *calls; /* NULL: lines alone */
};

/* The counters of one code object in one thread. */
struct lines_code {
	struct line_cell *cells;
	uint32_t first_line, n_cells;
};

#pragma GCC visibility push(hidden)

/* False when there is no memory for the stack. `last` is borrowed. */
bool leadline_lines_init(struct lines_thread *t, uint64_t *last);
void leadline_lines_done(struct lines_thread *t);

/* Closes what is above the activation; false (nothing closed) when it is not on the stack. */
bool leadline_lines_find(struct lines_thread *t, const void *key, uint64_t now);
/* Closes everything: the thread ends, or recording does. */
void leadline_lines_close_all(struct lines_thread *t, uint64_t now);

#pragma GCC visibility pop

static inline void lines_cell_open(struct line_cell *c, uint64_t now)
{
	if (c->depth++ == 0)
		c->opened = now;
}

static inline void lines_cell_close(struct line_cell *c, uint64_t opened, uint64_t now)
{
	uint64_t span = now - opened;

	if (--c->depth == 0)
		c->total += now - c->opened;
	if (span > c->max)
		c->max = span;
}

/* The time since the latest event is the top line's own, but for calls that are traced. */
static inline void lines_credit(struct lines_thread *t, uint64_t now)
{
	struct lines_frame *f = t->top;

	if (f->open)
		f->open->own += f->node ? t->calls->ran(f, now) : now - *t->last;
	*t->last = now;
}

static inline void lines_open(struct lines_thread *t, uint32_t line, uint64_t now)
{
	struct lines_frame *f = t->top;
	uint32_t i = line - f->first_line + 1;

	f->open = NULL;
	if (line < f->first_line || i >= f->n_cells)
		return;
	f->open = &f->cells[i];
	f->opened = now;
	lines_cell_open(f->open, now);
	if (t->calls)
		t->calls->open(f, now);
}

static inline void lines_shut(struct lines_frame *f, uint64_t now)
{
	if (f->open)
		lines_cell_close(f->open, f->opened, now);
	f->open = NULL;
}

/* False when the stack is full. */
static inline bool lines_push(
	struct lines_thread *t, const void *key, const struct lines_code *c, uint64_t now)
{
	struct lines_frame *f = t->top + 1;

	lines_credit(t, now);
	if (f == t->limit)
		return false;
	f->key = key;
	f->cells = c->cells;
	f->first_line = c->first_line;
	f->n_cells = c->n_cells;
	f->open = NULL;
	f->node = NULL;
	f->entered = now;
	lines_cell_open(&f->cells[0], now);
	t->top = f;
	return true;
}

static inline void lines_enter(
	struct lines_thread *t, const void *key, const struct lines_code *c, uint64_t now)
{
	lines_push(t, key, c, now);
	c->cells[0].hits++;
}

static inline void lines_resume(struct lines_thread *t, const void *key, const struct lines_code *c,
	uint32_t line, uint64_t now)
{
	if (lines_push(t, key, c, now))
		lines_open(t, line, now);
}

/* The top activation must be the one that runs. */
static inline void lines_at(struct lines_thread *t, uint32_t line, uint64_t now)
{
	struct lines_frame *f = t->top;

	lines_credit(t, now);
	lines_shut(f, now);
	lines_open(t, line, now);
	if (f->open)
		f->open->hits++;
}

static inline void lines_leave(struct lines_thread *t, uint64_t now)
{
	struct lines_frame *f = t->top;

	lines_credit(t, now);
	lines_shut(f, now);
	lines_cell_close(&f->cells[0], f->entered, now);
	t->top = f - 1;
}

#endif
