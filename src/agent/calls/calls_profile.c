/* SPDX-License-Identifier: MIT
 * See calls.h: up to 3.11, a profile function in every thread. The interpreter calls it for Python functions
 * that begin, go on, are suspended or end, and around calls of C functions from Python. */
#include "agent/calls/calls.h"

#include "agent/calls/args.h"
#include "agent/calls/budget.h"
#include "agent/calls/calls_events.h"
#include "agent/calls/exclude.h"
#include "agent/calls/greenlets.h"
#include "agent/calls/tree.h"
#include "agent/core/compat.h"
#include "agent/core/link.h"
#include "agent/core/stack_seed.h"

static enum calls_mode how;
static bool with_args; /* functions' arguments are looked at */

/* ---- events ---------------------------------------------------------------------------------- */

static inline void on_call(struct tracer *t, PyFrameObject *frame, enum calls_mode mode)
{
	const PyCodeObject *code = compat_frame_code(frame);

	if (unlikely(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) &&
		compat_moment_of_call(frame) == COMPAT_RESUME)
		calls_resume(t, code, frame, mode);
	else
		calls_enter(t, code, NULL, mode);
}

static inline void on_return(struct tracer *t, PyFrameObject *frame, enum calls_mode mode)
{
	const PyCodeObject *code = compat_frame_code(frame);

	if (unlikely(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) &&
		compat_moment_of_return(frame) == COMPAT_SUSPEND)
		calls_suspend(t, code, frame, mode);
	else
		calls_leave(t, code, mode);
}

/* The first event of a thread. A call is not on the stack yet. */
static __attribute__((noinline, cold)) struct tracer *attach(PyFrameObject *frame, int what)
{
	PyFrameObject *back = what == PyTrace_CALL ? compat_frame_back(frame) : NULL;
	struct tracer *t = stack_seed_attach(what == PyTrace_CALL ? back : frame);

	Py_XDECREF(back);
	if (!t && (what == PyTrace_CALL || what == PyTrace_C_CALL))
		leadline_link_missed(false);
	return t;
}

static inline int on_event(PyFrameObject *frame, int what, PyObject *arg, enum calls_mode mode)
{
	struct tracer *t = tree_mine;

	if (unlikely(exclude_is_set) && exclude_has(compat_frame_code(frame)))
		return 0;
	if (unlikely(!t)) {
		t = attach(frame, what);
		if (!t)
			return 0;
	}
	switch (what) {
	case PyTrace_CALL:
		on_call(t, frame, mode);
		break;
	case PyTrace_RETURN:
		on_return(t, frame, mode);
		break;
	case PyTrace_C_CALL:
		calls_enter(t, ((PyCFunctionObject *)arg)->m_ml, arg, mode);
		break;
	case PyTrace_C_RETURN:
	case PyTrace_C_EXCEPTION:
		calls_leave(t, ((PyCFunctionObject *)arg)->m_ml, mode);
		break;
	default:
		break;
	}
	return 0;
}

#define PROFILE(name, mode)                                                           \
	static int name(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg) \
	{                                                                             \
		(void)obj;                                                            \
		return on_event(frame, what, arg, mode);                              \
	}

PROFILE(profile_timed, CALLS_TIMED)
PROFILE(profile_counted, CALLS_COUNTED)
PROFILE(profile_timeline, CALLS_TIMELINE)

/* ---- threads --------------------------------------------------------------------------------- */

static const Py_tracefunc profiles[CALLS_MODES_] = { profile_timed, profile_counted,
	profile_timeline };

static int profile_args(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg)
{
	profiles[how](obj, frame, what, arg);
	if (what == PyTrace_CALL && tree_mine && compat_moment_of_call(frame) == COMPAT_BEGIN)
		args_look(tree_mine, compat_frame_code(frame), frame, how != CALLS_COUNTED);
	return 0;
}

static Py_tracefunc ours(void)
{
	return with_args ? profile_args : profiles[how];
}

/* A profile function of the program's own is left alone; when it is gone, the stack is found anew. */
static void watch_thread(PyThreadState *thread)
{
	if (thread->c_profilefunc)
		return;
	if (thread == compat_thread())
		tree_mine = NULL;
	compat_set_profile(thread, ours(), Py_None);
}

static void watch_all(void)
{
	PyThreadState *thread = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);

	for (; thread; thread = PyThreadState_Next(thread))
		watch_thread(thread);
	compat_watch_threads(COMPAT_WATCH_PROFILE, watch_thread);
}

static int profile_site(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg)
{
	static struct stack_seed_site site;

	if (what == PyTrace_RETURN)
		stack_seed_site_leave(&site, frame);
	if (what != PyTrace_CALL || !stack_seed_site_enter(&site, frame))
		return 0;
	PyEval_SetProfile(NULL, NULL);
	watch_all();
	return ours()(obj, frame, what, arg);
}

bool calls_start(bool after_site, bool with_clock, char *ret_why, size_t n_why)
{
	Py_tracefunc there = PyThreadState_Get()->c_profilefunc;

	if (there && there == ours()) /* another interpreter, whose threads have been seen */
		return true;
	if (there) {
		snprintf(ret_why, n_why, "the program has set a profile function of its own");
		return false;
	}
	how = calls_mode(with_clock);
	with_args = args_are_wanted();
	greenlets_start(with_clock);
	if (after_site)
		PyEval_SetProfile(profile_site, Py_None);
	else
		watch_all();
	return true;
}

void calls_stop(void)
{
	PyThreadState *thread = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);

	compat_watch_threads(COMPAT_WATCH_PROFILE, NULL);
	for (; thread; thread = PyThreadState_Next(thread))
		if (thread->c_profilefunc == ours())
			compat_set_profile(thread, NULL, NULL);
}

/* There is no budget: nothing can be switched off here. */
void budget_set(unsigned percent, const struct trace_cost *cost)
{
	(void)percent;
	(void)cost;
}

void budget_forget(void)
{
}

void budget_died(const void *code)
{
	(void)code;
}
