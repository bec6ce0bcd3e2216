/* SPDX-License-Identifier: MIT
 * See calls.h: from 3.12 on, callbacks of sys.monitoring. Each is an object of our own type that the
 * interpreter calls through its vectorcall slot, with the code object first and the offset second; for calls
 * the callable and its first argument follow. Nothing is ever disabled: every call counts. */
#include "agent/calls.h"

#include "agent/compat.h"
#include "agent/seed.h"
#include "agent/tree.h"

enum { TOOL_IDS_FIRST = 3, TOOL_IDS_LAST = 4 }; /* 2 is for the program's own cProfile */

typedef PyObject *callback_fn(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

struct callback {
	PyObject_HEAD vectorcallfunc call;
};

static struct {
	PyObject *monitoring; /* owned */
	PyObject *missing;    /* sys.monitoring.MISSING, owned */
	int tool;             /* -1: none */
	bool with_clock;
} monitor = { .tool = -1 };

/* ---- events ---------------------------------------------------------------------------------- */

/* The first event of a thread. What begins or goes on is not on the stack yet. */
static __attribute__((noinline)) struct tracer *attach(bool begins)
{
	PyFrameObject *frame = PyEval_GetFrame(), *back;
	struct tracer *t;

	if (!begins || !frame)
		return seed_attach(frame);
	back = compat_frame_back(frame);
	t = seed_attach(back);
	Py_XDECREF(back);
	return t;
}

/* None is immortal: no reference to count. */
#define CALLBACK(name, begins, with_clock, ...)                                          \
	static PyObject *name(                                                           \
		PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) \
	{                                                                                \
		struct tracer *t = tree_mine;                                            \
		const bool clock = with_clock;                                           \
                                                                                         \
		(void)self;                                                              \
		(void)nargsf;                                                            \
		(void)kwnames;                                                           \
		if (likely(t != NULL) || (t = attach(begins))) {                         \
			__VA_ARGS__;                                                     \
		}                                                                        \
		return Py_None;                                                          \
	}

/* The C function behind what is called, NULL when it is something else: classes, Python functions and
 * objects with __call__ are seen by what they call. As cProfile sees it. */
static inline const PyMethodDef *c_function(PyObject *callable, PyObject *first)
{
	PyTypeObject *type = Py_TYPE(callable);

	if (type == &PyFunction_Type)
		return NULL;
	if (type == &PyCFunction_Type || type == &PyCMethod_Type) /* nobody can derive from them */
		return ((PyCFunctionObject *)callable)->m_ml;
	if (type == &PyMethodDescr_Type && first != monitor.missing &&
		PyObject_TypeCheck(first, PyDescr_TYPE(callable)))
		return ((PyMethodDescrObject *)callable)->d_method;
	return NULL;
}

static inline void enter_c(struct tracer *t, PyObject *const *args, bool with_clock)
{
	const PyMethodDef *def = c_function(args[2], args[3]);

	if (def)
		tree_enter(t, def, args[2], with_clock);
}

static inline void leave_c(struct tracer *t, PyObject *const *args, bool with_clock)
{
	const PyMethodDef *def = c_function(args[2], args[3]);

	if (def)
		tree_leave(t, def, with_clock);
}

#define CALLBACKS(suffix, with_clock)                                                     \
	CALLBACK(on_start##suffix, true, with_clock, tree_enter(t, args[0], NULL, clock)) \
	CALLBACK(on_return##suffix, false, with_clock, tree_leave(t, args[0], clock))     \
	CALLBACK(on_resume##suffix, true, with_clock,                                     \
		tree_resume(t, args[0], compat_activation(), clock))                      \
	CALLBACK(on_yield##suffix, false, with_clock,                                     \
		tree_suspend(t, args[0], compat_activation(), clock))                     \
	CALLBACK(on_c_call##suffix, false, with_clock, enter_c(t, args, clock))           \
	CALLBACK(on_c_return##suffix, false, with_clock, leave_c(t, args, clock))

CALLBACKS(, true)
CALLBACKS(_counting, false)

/* ---- registration ---------------------------------------------------------------------------- */

static PyTypeObject callback_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "leadline.callback",
	.tp_basicsize = sizeof(struct callback),
	.tp_vectorcall_offset = offsetof(struct callback, call),
	.tp_call = PyVectorcall_Call,
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

static const struct {
	const char *event;
	callback_fn *timed, *counting;
} events[] = {
	{ "PY_START", on_start, on_start_counting },
	{ "PY_RESUME", on_resume, on_resume_counting },
	{ "PY_THROW", on_resume, on_resume_counting },
	{ "PY_RETURN", on_return, on_return_counting },
	{ "PY_YIELD", on_yield, on_yield_counting },
	{ "PY_UNWIND", on_return, on_return_counting },
	{ "CALL", on_c_call, on_c_call_counting },
	{ "C_RETURN", on_c_return, on_c_return_counting },
	{ "C_RAISE", on_c_return, on_c_return_counting },
};

enum { N_EVENTS = sizeof events / sizeof *events };

/* The number of an event, -1 with an exception set. */
static long event_number(const char *name)
{
	PyObject *list = PyObject_GetAttrString(monitor.monitoring, "events");
	PyObject *number = list ? PyObject_GetAttrString(list, name) : NULL;
	long result = number ? PyLong_AsLong(number) : -1;

	Py_XDECREF(list);
	Py_XDECREF(number);
	return result;
}

/* fn NULL: takes the callback away. */
static bool set_callback(long event, callback_fn *fn)
{
	struct callback *c = fn ? PyObject_New(struct callback, &callback_type) : NULL;
	PyObject *before;

	if (fn && !c)
		return false;
	if (c)
		c->call = fn;
	before = PyObject_CallMethod(monitor.monitoring, "register_callback", "ilO", monitor.tool,
		event, c ? (PyObject *)c : Py_None);
	Py_XDECREF((PyObject *)c);
	Py_XDECREF(before);
	return before != NULL;
}

static bool set_events(long set)
{
	PyObject *done =
		PyObject_CallMethod(monitor.monitoring, "set_events", "il", monitor.tool, set);

	Py_XDECREF(done);
	return done != NULL;
}

/* All callbacks, then all events at once: each change makes the interpreter visit all code. */
static bool watch_all(void)
{
	long set = 0;

	for (int i = 0; i < N_EVENTS; i++) {
		long event = event_number(events[i].event);

		if (event < 0 ||
			!set_callback(
				event, monitor.with_clock ? events[i].timed : events[i].counting))
			return false;
		set |= event;
	}
	return set_events(set);
}

/* ---- waiting for the end of site ------------------------------------------------------------- */

static struct seed_site site;

static PyObject *on_site_return(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
	PyFrameObject *frame = PyEval_GetFrame();

	(void)self;
	(void)args;
	(void)nargsf;
	(void)kwnames;
	if (frame)
		seed_site_leave(&site, frame);
	return Py_None;
}

static PyObject *on_site_start(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
	PyFrameObject *frame = PyEval_GetFrame();

	if (!frame || !seed_site_enter(&site, frame))
		return Py_None;
	if (!watch_all())
		PyErr_Clear();
	return (monitor.with_clock ? on_start : on_start_counting)(self, args, nargsf, kwnames);
}

static bool watch_site(void)
{
	static const char *const names[] = { "PY_START", "PY_RETURN", "PY_UNWIND" };
	long set = 0;

	for (int i = 0; i < 3; i++) {
		long event = event_number(names[i]);

		if (event < 0 || !set_callback(event, i ? on_site_return : on_site_start))
			return false;
		set |= event;
	}
	return set_events(set);
}

/* ---- tool ids -------------------------------------------------------------------------------- */

/* Who has it, as a new reference; None: nobody. */
static PyObject *holder(int tool)
{
	return PyObject_CallMethod(monitor.monitoring, "get_tool", "i", tool);
}

static bool take_tool(char *ret_why, size_t n_why)
{
	size_t n = 0;

	for (int id = TOOL_IDS_FIRST; id <= TOOL_IDS_LAST; id++) {
		PyObject *who = holder(id), *done;
		const char *name = who && PyUnicode_Check(who) ? PyUnicode_AsUTF8(who) : NULL;

		if (who == Py_None) {
			done = PyObject_CallMethod(
				monitor.monitoring, "use_tool_id", "is", id, "leadline");
			Py_XDECREF(done);
			if (done)
				monitor.tool = id;
		} else if (n < n_why) {
			n += (size_t)snprintf(ret_why + n, n_why - n, "%s%s holds id %d",
				n ? ", " : "", name ? name : "another tool", id);
		}
		Py_XDECREF(who);
		PyErr_Clear();
		if (monitor.tool >= 0)
			return true;
	}
	if (n < n_why)
		snprintf(
			ret_why + n, n_why - n, "%sno id of sys.monitoring is free", n ? ": " : "");
	return false;
}

bool calls_start(bool after_site, bool with_clock, char *ret_why, size_t n_why)
{
	snprintf(ret_why, n_why, "sys.monitoring cannot be used");
	if (!monitor.monitoring) {
		PyObject *found = PySys_GetObject("monitoring");

		if (!found || PyType_Ready(&callback_type) < 0)
			return false;
		monitor.missing = PyObject_GetAttrString(found, "MISSING");
		if (!monitor.missing)
			return false;
		Py_INCREF(found);
		monitor.monitoring = found;
	}
	monitor.with_clock = with_clock;
	if (monitor.tool < 0 && !take_tool(ret_why, n_why))
		return false;
	if (after_site ? watch_site() : watch_all())
		return true;
	calls_stop();
	return false;
}

/* The id is given back, so that others can have it. */
void calls_stop(void)
{
	PyObject *done;

	if (monitor.tool < 0)
		return;
	set_events(0);
	for (int i = 0; i < N_EVENTS; i++)
		set_callback(event_number(events[i].event), NULL);
	done = PyObject_CallMethod(monitor.monitoring, "free_tool_id", "i", monitor.tool);
	Py_XDECREF(done);
	PyErr_Clear();
	monitor.tool = -1;
}
