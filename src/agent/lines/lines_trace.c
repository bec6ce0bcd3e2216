/* SPDX-License-Identifier: MIT
 * Line events up to 3.11: a trace function in every thread, known by its address alone, so that
 * sys.gettrace() still says None. It is called for the lines of all functions; those not meant are
 * told by their frame not being the top of the shadow stack. */
#include "agent/lines/line_hooks.h"

#include "agent/calls/tree.h"
#include "agent/lines/line_codes.h"

static bool is_on;

static void count_unit(struct line_code *c, int offset)
{
	if (offset >= 0 && line_code_is_unit(c, (uint32_t)offset / 2))
		c->unit_hits[offset / 2]++;
}

/* The activation begins or goes on: its instructions are told from here on. From 3.11 on the one that begins it is not
 * told itself, nor are those before it, which make cells and the like. */
static void watch_units(struct line_code *c, PyFrameObject *frame, bool is_resumed)
{
	int offset = compat_frame_offset(frame);

	compat_frame_trace_opcodes(frame);
	if (!compat_frame_is_at_resume(frame))
		return;
	for (int i = is_resumed ? offset : 0; i <= offset; i += 2)
		count_unit(c, i);
}

static bool is_resumed(PyFrameObject *frame)
{
	return compat_frame_code(frame)->co_flags &
		(CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR) &&
		compat_moment_of_call(frame) == COMPAT_RESUME;
}

static void on_call(struct line_thread *m, PyFrameObject *frame)
{
	struct line_code *c = line_code_find(m, compat_frame_code(frame));
	bool goes_on = c && is_resumed(frame);

	if (!c)
		return;
	if (c->unit_hits)
		watch_units(c, frame, goes_on);
	if (!(line_wants & LINE_WANT_TIMES))
		c->lines.cells[0].hits += !goes_on;
	else if (goes_on)
		lines_resume(&m->t, frame, &c->lines, line_code_line(c, compat_frame_offset(frame)),
			clock_read(tree_clock));
	else
		lines_enter(&m->t, frame, &c->lines, clock_read(tree_clock));
}

/* A line of a frame that is not the top: of a function nobody asked for, or one that went on
 * without a call event (an exception thrown into a generator of 3.11). */
static __attribute__((noinline)) void line_elsewhere(
	struct line_thread *m, PyFrameObject *frame, uint64_t now)
{
	struct line_code *c = line_code_find(m, compat_frame_code(frame));

	if (!c)
		return;
	if (leadline_lines_find(&m->t, frame, now) || lines_push(&m->t, frame, &c->lines, now))
		lines_at(&m->t, (uint32_t)compat_frame_line(frame), now);
}

static void on_opcode(struct line_thread *m, PyFrameObject *frame)
{
	struct line_code *c = line_code_find(m, compat_frame_code(frame));

	if (c)
		count_unit(c, compat_frame_offset(frame));
}

/* Without a clock. */
static void on_line_counting(struct line_thread *m, PyFrameObject *frame)
{
	struct line_code *c = line_code_find(m, compat_frame_code(frame));
	uint32_t i = c ? (uint32_t)compat_frame_line(frame) - c->lines.first_line + 1 : 0;

	if (c && i < c->lines.n_cells)
		c->lines.cells[i].hits++;
}

static int trace_counts(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg)
{
	struct line_thread *m = line_mine ? line_mine : line_thread_attach();

	(void)obj;
	(void)arg;
	if (unlikely(!m))
		return 0;
	if (what == PyTrace_OPCODE)
		on_opcode(m, frame);
	else if (what == PyTrace_LINE && line_wants & LINE_WANT_HITS)
		on_line_counting(m, frame);
	else if (what == PyTrace_CALL)
		on_call(m, frame);
	line_thread_check(m);
	return 0;
}

static int trace(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg)
{
	struct line_thread *m = line_mine ? line_mine : line_thread_attach();
	uint64_t now;

	(void)obj;
	(void)arg;
	if (unlikely(!m))
		return 0;
	switch (what) {
	case PyTrace_LINE:
		now = clock_read(tree_clock);
		if (likely(m->t.top->key == frame))
			lines_at(&m->t, (uint32_t)compat_frame_line(frame), now);
		else
			line_elsewhere(m, frame, now);
		if (unlikely(now >= m->check_at))
			m->check_at = detach_check(now);
		break;
	case PyTrace_CALL:
		on_call(m, frame);
		break;
	case PyTrace_OPCODE:
		on_opcode(m, frame);
		break;
	case PyTrace_RETURN:
		if (m->t.top->key == frame)
			lines_leave(&m->t, clock_read(tree_clock));
		break;
	default:
		break;
	}
	return 0;
}

static line_hooks_look_fn *wait_look; /* NULL: lines are counted */

static int trace_wait(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg)
{
	(void)obj;
	(void)frame;
	(void)what;
	(void)arg;
	if (wait_look)
		wait_look();
	return 0;
}

static Py_tracefunc ours(void)
{
	return wait_look ? trace_wait : line_wants & LINE_WANT_TIMES ? trace : trace_counts;
}

/* A trace function of the program's own is left alone. */
static void watch_thread(PyThreadState *thread)
{
	if (!thread->c_tracefunc)
		compat_set_trace(thread, ours());
}

bool line_hooks_start(char *ret_why, size_t n_why)
{
	PyThreadState *thread = PyThreadState_Get();

	if (thread->c_tracefunc) {
		snprintf(ret_why, n_why, "the program has set a trace function of its own");
		return false;
	}
	PyEval_SetTrace(ours(), NULL); /* tells the interpreter that there is tracing */
	for (thread = PyInterpreterState_ThreadHead(thread->interp); thread;
		thread = PyThreadState_Next(thread))
		watch_thread(thread);
	compat_watch_threads(COMPAT_WATCH_TRACE, watch_thread);
	is_on = true;
	return true;
}

bool line_hooks_wait(line_hooks_look_fn *look, char *ret_why, size_t n_why)
{
	wait_look = look;
	if (line_hooks_start(ret_why, n_why))
		return true;
	wait_look = NULL;
	return false;
}

bool line_hooks_are_replaced(void)
{
	return is_on && PyThreadState_Get()->c_tracefunc != ours();
}

void line_hooks_arm(PyCodeObject *code)
{
	(void)code; /* judged anew at its next call */
}

void line_hooks_stop(void)
{
	PyThreadState *thread = PyThreadState_Get();

	is_on = false;
	compat_watch_threads(COMPAT_WATCH_TRACE, NULL);
	if (thread->c_tracefunc == ours())
		PyEval_SetTrace(NULL, NULL); /* tells the interpreter that there is none any more */
	for (thread = PyInterpreterState_ThreadHead(thread->interp); thread;
		thread = PyThreadState_Next(thread))
		if (thread->c_tracefunc == ours())
			compat_set_trace(thread, NULL);
	wait_look = NULL;
	line_codes_pause(clock_read(tree_clock));
}
