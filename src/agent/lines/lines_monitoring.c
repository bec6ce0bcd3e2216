/* SPDX-License-Identifier: MIT
 * Line events from 3.12 on: sys.monitoring. PY_START is watched everywhere, and switched off at
 * each function the user does not mean at its first call, so that those cost nothing afterwards.
 * The others get local events. PY_UNWIND and PY_THROW are known only interpreter-wide before 3.15;
 * those of strangers are ignored.
 *
 * The callbacks are objects with a vectorcall slot of their own: the cheapest the interpreter can
 * call. They return None, never raise and run no Python code. */
#include "agent/lines/line_hooks.h"

#include "agent/calls/monitor.h"
#include "agent/calls/tree.h"
#include "agent/lines/basic_blocks.h"
#include "agent/lines/line_codes.h"

static struct monitor monitor = MONITOR_INIT;
static long local_events;

/* ---- events ---------------------------------------------------------------------------------- */

/* The counters of the calling thread for the code object; NULL: it is not counted. ret_mine may
 * be set to NULL too: nobody listens. */
static inline struct line_code *counted(struct line_thread **ret_mine, PyObject *code)
{
	struct line_thread *m = line_mine ? line_mine : line_thread_attach();

	*ret_mine = m;
	return likely(m) ? line_code_find(m, (PyCodeObject *)code) : NULL;
}

/* A line of an activation that is not the top one. */
static __attribute__((noinline)) void line_elsewhere(PyObject *code, uint32_t line, uint64_t now)
{
	struct line_thread *m;
	struct line_code *c = counted(&m, code);

	if (!c)
		return;
	if (leadline_lines_find(&m->t, code, now) || lines_push(&m->t, code, &c->lines, now))
		lines_at(&m->t, line, now);
}

#define CALLBACK(name, ...)                                                              \
	static PyObject *name(                                                           \
		PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) \
	{                                                                                \
		(void)self;                                                              \
		(void)nargsf;                                                            \
		(void)kwnames;                                                           \
		__VA_ARGS__;                                                             \
	}

CALLBACK(on_line, {
	uint64_t now = clock_read(tree_clock);
	struct line_thread *m = line_mine;
	uint32_t line = compat_small_int(args[1]);

	if (likely(m && m->t.top->key == args[0])) {
		lines_at(&m->t, line, now);
		if (unlikely(now >= m->check_at))
			m->check_at = detach_check(now);
	} else {
		line_elsewhere(args[0], line, now);
	}
	return Py_None; /* immortal */
})

static PyObject *disable(void)
{
	Py_INCREF(monitor.disable);
	return monitor.disable;
}

/* Instructions up to the one that begins an activation have no events of their own. */
static void count_begin(struct line_code *c, uint32_t unit)
{
	if (!line_code_is_unit(c, unit))
		return;
	for (uint32_t i = 0; i <= unit; i++)
		c->unit_hits[i] += (uint64_t)basic_blocks_has(c->block_begins, i);
}

/* Also the first call of every function there is: those not meant are switched off. */
static inline struct line_code *begin(struct line_thread **ret_mine, PyObject *const *args)
{
	struct line_code *c = counted(ret_mine, args[0]);

	if (unlikely(!c)) {
		detach_check(0);
		return NULL;
	}
	if (unlikely(!c->is_armed)) {
		c->is_armed = true;
		monitor_set_local_events(&monitor, (PyCodeObject *)args[0], local_events);
	}
	if (c->unit_hits)
		count_begin(c, compat_small_int(args[1]) / 2);
	return c;
}

CALLBACK(on_start, {
	struct line_thread *m;
	struct line_code *c = begin(&m, args);

	if (unlikely(!c))
		return m ? disable() : Py_None;
	lines_enter(&m->t, args[0], &c->lines, clock_read(tree_clock));
	return Py_None;
})

CALLBACK(on_start_counting, {
	struct line_thread *m;
	struct line_code *c = begin(&m, args);

	if (unlikely(!c))
		return m ? disable() : Py_None;
	c->lines.cells[0].hits++;
	line_thread_check(m);
	return Py_None;
})

CALLBACK(on_line_counting, {
	struct line_thread *m;
	struct line_code *c = counted(&m, args[0]);
	uint32_t i = c ? compat_small_int(args[1]) - c->lines.first_line + 1 : 0;

	if (likely(c && i < c->lines.n_cells))
		c->lines.cells[i].hits++;
	if (likely(m))
		line_thread_check(m);
	return Py_None;
})

/* Only where a block begins; the others are switched off. */
CALLBACK(on_instruction, {
	struct line_thread *m;
	struct line_code *c = counted(&m, args[0]);
	uint32_t unit = compat_small_int(args[1]) / 2;

	if (unlikely(!c || !line_code_is_unit(c, unit) || !basic_blocks_has(c->block_begins, unit)))
		return m ? disable() : Py_None;
	c->unit_hits[unit]++;
	line_thread_check(m);
	return Py_None;
})

/* Anywhere: those of functions that are counted matter. */
CALLBACK(on_raise, {
	const struct line_thread *m = line_mine;
	struct line_code *c = m ? line_code_known(m, (PyCodeObject *)args[0]) : NULL;
	uint32_t unit = c ? compat_raise_offset(compat_small_int(args[1])) / 2 : 0;

	if (c && line_code_is_unit(c, unit))
		c->unit_left[unit]++;
	return Py_None;
})

CALLBACK(on_resume_counting, {
	struct line_thread *m;
	struct line_code *c = counted(&m, args[0]);
	uint32_t unit = compat_small_int(args[1]) / 2;

	if (c && line_code_is_unit(c, unit))
		c->unit_hits[unit]++;
	return Py_None;
})

CALLBACK(on_resume, {
	struct line_thread *m;
	struct line_code *c = counted(&m, args[0]);

	if (c)
		lines_resume(&m->t, args[0], &c->lines,
			line_code_line(c, (int)compat_small_int(args[1])), clock_read(tree_clock));
	if (c && c->unit_hits)
		return on_resume_counting(self, args, nargsf, kwnames);
	return Py_None;
})

CALLBACK(on_throw, {
	struct line_thread *m;
	struct line_code *c = counted(&m, args[0]);

	if (c)
		lines_resume(&m->t, args[0], &c->lines,
			line_code_line(c, (int)compat_small_int(args[1])), clock_read(tree_clock));
	return Py_None;
})

CALLBACK(on_leave, {
	uint64_t now = clock_read(tree_clock);
	struct line_thread *m = line_mine;

	if (likely(m && (m->t.top->key == args[0] || leadline_lines_find(&m->t, args[0], now))))
		lines_leave(&m->t, now);
	return Py_None;
})

/* An exception leaves a frame, anyone's: only the top is meant. */
CALLBACK(on_unwind, {
	struct line_thread *m = line_mine;

	if (m && m->t.top->key == args[0])
		lines_leave(&m->t, clock_read(tree_clock));
	return Py_None;
})

/* ---- waiting --------------------------------------------------------------------------------- */

static line_hooks_look_fn *wait_look;

CALLBACK(on_wait, {
	(void)args;
	wait_look();
	return Py_None;
})

bool line_hooks_wait(line_hooks_look_fn *look, char *ret_why, size_t n_why)
{
	long begins, turns;

	if (!monitor_take(&monitor, ret_why, n_why))
		return false;
	wait_look = look;
	begins = monitor_event(&monitor, "PY_START");
	turns = monitor_event(&monitor, "JUMP");
	if (monitor_set_callback(&monitor, begins, on_wait) &&
		monitor_set_callback(&monitor, turns, on_wait) &&
		monitor_set_events(&monitor, begins | turns))
		return true;
	monitor_release(&monitor);
	return false;
}

/* ---- registration ---------------------------------------------------------------------------- */

enum {
	TIMES = LINE_WANT_TIMES,
	HITS = LINE_WANT_HITS,
	OPCODES = LINE_WANT_OPCODES,
};

static const struct {
	const char *event;
	monitor_fn *fn;
	unsigned wants;  /* enum line_want: any of these needs it */
	unsigned unless; /* … but not when one of these is wanted */
	bool is_local;   /* of the code objects that are counted */
	bool is_global;  /* of all */
} events[] = {
	{ "PY_START", on_start, TIMES, 0, true, true },
	{ "PY_START", on_start_counting, HITS | OPCODES, TIMES, true, true },
	{ "PY_RESUME", on_resume, TIMES, 0, true, false },
	{ "PY_RESUME", on_resume_counting, OPCODES, TIMES, true, false },
	{ "PY_RETURN", on_leave, TIMES, 0, true, false },
	{ "PY_YIELD", on_leave, TIMES, 0, true, false },
	{ "LINE", on_line, TIMES, 0, true, false },
	{ "LINE", on_line_counting, HITS, TIMES, true, false },
	{ "INSTRUCTION", on_instruction, OPCODES, 0, true, false },
	{ "RAISE", on_raise, OPCODES, 0, false, true },
	{ "PY_THROW", on_throw, TIMES, 0, COMPAT_HAS_LOCAL_UNWIND, !COMPAT_HAS_LOCAL_UNWIND },
	{ "PY_UNWIND", on_unwind, TIMES, 0, COMPAT_HAS_LOCAL_UNWIND, !COMPAT_HAS_LOCAL_UNWIND },
};

bool line_hooks_start(char *ret_why, size_t n_why)
{
	long everywhere = 0;

	if (!monitor_take(&monitor, ret_why, n_why))
		return false;
	local_events = 0;
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		long event = monitor_event(&monitor, events[i].event);

		if (!(line_wants & events[i].wants) || line_wants & events[i].unless)
			continue;
		if (!event || !monitor_set_callback(&monitor, event, events[i].fn))
			break;
		local_events |= events[i].is_local ? event : 0;
		everywhere |= events[i].is_global ? event : 0;
	}
	if (monitor_set_events(&monitor, everywhere))
		return true;
	monitor_release(&monitor);
	return false;
}

/* Any thread may have called it before anybody asked for it, and so have switched it off. */
void line_hooks_arm(PyCodeObject *code)
{
	if (monitor.tool < 0)
		return;
	monitor_set_local_events(&monitor, code, local_events);
	monitor_restart(&monitor);
}

bool line_hooks_are_replaced(void)
{
	return false;
}

void line_hooks_stop(void)
{
	monitor_release(&monitor);
	line_codes_pause(clock_read(tree_clock));
}
