/* SPDX-License-Identifier: MIT
 * See calls.h: from 3.12 on, callbacks of sys.monitoring. Each is an object of our own type that the
 * interpreter calls through its vectorcall slot, with the code object first and the offset second; for calls
 * the callable and its first argument follow. Nothing is ever disabled: every call counts, unless there is a
 * budget (budget.h). */
#include "agent/calls/calls.h"

#include <stdio.h>

#include "agent/calls/args.h"
#include "agent/calls/budget.h"
#include "agent/calls/calls_c.h"
#include "agent/calls/calls_events.h"
#include "agent/calls/monitor.h"
#include "agent/calls/greenlets.h"
#include "agent/core/link.h"
#include "agent/core/stack_seed.h"
#include "agent/calls/tree.h"

static struct monitor monitor = MONITOR_INIT;
static PyObject *missing; /* sys.monitoring.MISSING, owned */
static enum calls_mode how;
static bool with_args; /* functions' arguments are looked at */

/* ---- events ---------------------------------------------------------------------------------- */

/* None is immortal: no reference to count. counts: whether a node would count the event. */
#define CALLBACK(name, begins, counts, kind, ...)                                        \
	static PyObject *name(                                                           \
		PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) \
	{                                                                                \
		struct tracer *t = tree_mine;                                            \
		const enum calls_mode mode = kind;                                       \
                                                                                         \
		(void)self;                                                              \
		(void)nargsf;                                                            \
		(void)kwnames;                                                           \
		if (likely(t != NULL) || (t = stack_seed_attach_at(begins))) {           \
			__VA_ARGS__;                                                     \
		} else if (counts) {                                                     \
			leadline_link_missed(false);                                     \
		}                                                                        \
		return Py_None;                                                          \
	}

static inline void enter_c(struct tracer *t, PyObject *const *args, enum calls_mode mode)
{
	const PyMethodDef *def = c_function(args[2], args[3], missing);

	if (def)
		calls_enter(t, def, args[2], mode);
	else if (mode != CALLS_COUNTED && !is_python_function(args[2]))
		t->top->node->cost += t->costs.other;
}

static inline void leave_c(struct tracer *t, PyObject *const *args, enum calls_mode mode)
{
	const PyMethodDef *def = c_function(args[2], args[3], missing);

	if (def)
		calls_leave(t, def, mode);
}

static bool is_c_call(PyObject *const *args)
{
	return c_function(args[2], args[3], missing) != NULL;
}

#define CALLBACKS(suffix, kind)                                                           \
	CALLBACK(on_start##suffix, true, true, kind, calls_enter(t, args[0], NULL, mode)) \
	CALLBACK(on_return##suffix, false, false, kind, calls_leave(t, args[0], mode))    \
	CALLBACK(on_resume##suffix, true, true, kind,                                     \
		calls_resume(t, args[0], compat_activation(), mode))                      \
	CALLBACK(on_yield##suffix, false, false, kind,                                    \
		calls_suspend(t, args[0], compat_activation(), mode))                     \
	CALLBACK(on_c_call##suffix, false, is_c_call(args), kind, enter_c(t, args, mode)) \
	CALLBACK(on_c_return##suffix, false, false, kind, leave_c(t, args, mode))

CALLBACKS(_timed, CALLS_TIMED)
CALLBACKS(_counted, CALLS_COUNTED)
CALLBACKS(_timeline, CALLS_TIMELINE)

/* ---- registration ---------------------------------------------------------------------------- */

#define OF_ALL_MODES(name)                                    \
	{                                                     \
		name##_timed, name##_counted, name##_timeline \
	}

static const struct {
	const char *event;
	monitor_fn *callbacks[CALLS_MODES_];
} events[] = {
	{ "PY_START", OF_ALL_MODES(on_start) },
	{ "PY_RESUME", OF_ALL_MODES(on_resume) },
	{ "PY_THROW", OF_ALL_MODES(on_resume) },
	{ "PY_RETURN", OF_ALL_MODES(on_return) },
	{ "PY_YIELD", OF_ALL_MODES(on_yield) },
	{ "PY_UNWIND", OF_ALL_MODES(on_return) },
	{ "CALL", OF_ALL_MODES(on_c_call) },
	{ "C_RETURN", OF_ALL_MODES(on_c_return) },
	{ "C_RAISE", OF_ALL_MODES(on_c_return) },
};

enum { N_EVENTS = sizeof events / sizeof *events };

static PyObject *on_start_args(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
	events[0].callbacks[how](self, args, nargsf, kwnames);
	if (tree_mine)
		args_look(tree_mine, (const PyCodeObject *)args[0], compat_activation(),
			how != CALLS_COUNTED);
	return Py_None;
}

static monitor_fn *callback_of(int event)
{
	return event == 0 && with_args ? on_start_args : events[event].callbacks[how];
}

static bool watch_within_budget(void)
{
	long set = 0;

	for (const struct budget_event *e = budget_events; e->event; e++)
		if (!monitor_watch(&monitor, e->event, e->callback, &set))
			return false;
	budget_start(&monitor, missing);
	return monitor_set_events(&monitor, set);
}

static bool watch_all(void)
{
	long set = 0;

	if (budget_is_set())
		return watch_within_budget();

	for (int i = 0; i < N_EVENTS; i++)
		if (!monitor_watch(&monitor, events[i].event, callback_of(i), &set))
			return false;
	return monitor_set_events(&monitor, set);
}

/* ---- waiting for the end of site ------------------------------------------------------------- */

static struct stack_seed_site site;

static PyObject *on_site_return(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
	PyFrameObject *frame = PyEval_GetFrame();

	(void)self;
	(void)args;
	(void)nargsf;
	(void)kwnames;
	if (frame)
		stack_seed_site_leave(&site, frame);
	return Py_None;
}

static PyObject *on_site_start(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
	PyFrameObject *frame = PyEval_GetFrame();

	if (!frame || !stack_seed_site_enter(&site, frame))
		return Py_None;
	watch_all();
	return (budget_is_set() ? budget_events[0].callback : callback_of(0))(
		self, args, nargsf, kwnames);
}

static bool watch_site(void)
{
	static const char *const names[] = { "PY_START", "PY_RETURN", "PY_UNWIND" };
	long set = 0;

	for (int i = 0; i < 3; i++) {
		long event = monitor_event(&monitor, names[i]);

		if (!event ||
			!monitor_set_callback(&monitor, event, i ? on_site_return : on_site_start))
			return false;
		set |= event;
	}
	return monitor_set_events(&monitor, set);
}

/* ---- start and stop -------------------------------------------------------------------------- */

bool calls_start(bool after_site, bool with_clock, char *ret_why, size_t n_why)
{
	if (monitor.tool < 0 && !monitor_take(&monitor, ret_why, n_why))
		return false;
	snprintf(ret_why, n_why, "sys.monitoring cannot be used");
	if (!missing)
		missing = PyObject_GetAttrString(monitor.module, "MISSING");
	how = calls_mode(with_clock);
	with_args = args_are_wanted();
	greenlets_start(with_clock);
	if (missing && (after_site ? watch_site() : watch_all()))
		return true;
	calls_stop();
	return false;
}

void calls_stop(void)
{
	monitor_release(&monitor);
}
