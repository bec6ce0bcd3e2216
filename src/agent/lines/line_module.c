/* SPDX-License-Identifier: MIT
 * See line_module.h. */
#include "agent/lines/line_module.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/calls/calls.h"
#include "agent/calls/tree.h"
#include "agent/core/detach.h"
#include "agent/core/link.h"
#include "agent/lines/line_codes.h"
#include "agent/lines/line_hooks.h"
#include "wire/trace.h"

enum { NEAR_BYTES = 400 };

/* The answer; whatever error was set is nobody's. */
static PyObject *answer(bool yes)
{
	PyErr_Clear();
	return PyBool_FromLong(yes);
}

/* What the session asks for; without options of that kind: times. */
static unsigned wants(void)
{
	struct agent_options o = leadline_link_options();

	return (o.wants_opcodes ? LINE_WANT_OPCODES : 0) |
		(o.wants_line_hits ? LINE_WANT_HITS : 0) |
		(o.wants_line_times ? LINE_WANT_TIMES : 0);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Registered before the program's own functions for the end, so called after them. */
static PyObject *at_exit(PyObject *self, PyObject *unused)
{
	static const char text[] =
		"the program has set a trace function of its own (sys.settrace: coverage, "
		"debuggers): from then on lines were not counted; CPython 3.12 and later count beside it";

	(void)self;
	(void)unused;
	if (line_hooks_are_replaced())
		leadline_link_emit(TRACE_RECORD_NOTE, text, sizeof text - 1);
	Py_RETURN_NONE;
}

static bool register_at_exit(PyMethodDef *method, PyObject *self)
{
	PyObject *module = PyImport_ImportModule("atexit");
	PyObject *function = module ? PyCFunction_New(method, self) : NULL;
	PyObject *done = function ? PyObject_CallMethod(module, "register", "O", function) : NULL;
	bool is_registered = done != NULL;

	Py_XDECREF(done);
	Py_XDECREF(function);
	Py_XDECREF(module);
	PyErr_Clear();
	return is_registered;
}

static void register_end(void)
{
	static PyMethodDef method = { "leadline_lines_end", at_exit, METH_NOARGS,
		"tells whether lines were counted to the end" };
	static bool is_registered;

	is_registered = is_registered || register_at_exit(&method, NULL);
}

/* Functions of ours are not the program's: while one runs, calls are not traced. */
static void call_own(PyObject *function)
{
	enum agent_calls calls = leadline_link_options().calls;
	char why[200];

	if (calls) {
		calls_stop();
		tree_pause();
	}
	Py_XDECREF(PyObject_CallObject(function, NULL));
	PyErr_Clear();
	if (calls)
		calls_start(false, calls == AGENT_CALLS_TIMED, why, sizeof why);
	PyErr_Clear();
}

/* Calls the function it is bound to where a pattern has found nothing. */
static PyObject *explain(PyObject *function, PyObject *unused)
{
	bool is_missing = false;

	(void)unused;
	for (uint32_t i = 0; line_codes_found(i) >= 0; i++)
		is_missing |= line_codes_found(i) == 0;
	if (is_missing)
		call_own(function);
	Py_RETURN_NONE;
}

PyObject *line_module_at_end(PyObject *self, PyObject *function)
{
	static PyMethodDef method = { "leadline_lines_explain", explain, METH_NOARGS,
		"tells what patterns may have meant" };

	(void)self;
	return answer(register_at_exit(&method, function));
}

/* ---- the beginning --------------------------------------------------------------------------- */

enum { WHY_BYTES = 200 };

static void tell_not_counted(const char *why)
{
	char text[WHY_BYTES + 100];

	snprintf(text, sizeof text, "lines are not counted: %s", why);
	leadline_link_emit(TRACE_RECORD_NOTE, text, (uint32_t)strlen(text));
}

static bool start(const char *patterns, const char *library, char why[WHY_BYTES])
{
	snprintf(why, WHY_BYTES, "these are more patterns than fit");
	if (line_codes_start(patterns, library, wants()) && line_hooks_start(why, WHY_BYTES)) {
		register_end();
		return true;
	}
	tell_not_counted(why);
	return false;
}

PyObject *line_module_start(PyObject *self, PyObject *args)
{
	const char *patterns, *library;
	char why[WHY_BYTES];

	(void)self;
	if (!PyArg_ParseTuple(args, "ss", &patterns, &library) || !compat_is_ours())
		return answer(false);
	if (start(patterns, library, why))
		return answer(true);
	PyErr_Clear();
	return PyUnicode_FromString(why);
}

/* ---- a choice that is still to be made ------------------------------------------------------- */

enum { WAIT_EVENTS = 8 }; /* of so many, one reads the clock */

static struct {
	char path[4096];
	PyObject *then; /* owned, for good */
	_Atomic uint64_t look_at;
	_Atomic bool is_looked_at;
} wait;

/* The file is there: the hooks that wait end, and the function begins to count. */
static void look_for_choice(void)
{
	struct compat_error error;
	int saved = errno;
	bool is_there = access(wait.path, F_OK) == 0;

	errno = saved;
	if (!is_there)
		return;
	error = compat_error_take();
	line_hooks_stop();
	call_own(wait.then);
	compat_error_put(error);
}

static void look(void)
{
	static _Thread_local unsigned n;
	uint64_t now;

	if (++n % WAIT_EVENTS)
		return;
	now = leadline_link_now();
	if ((now && now < wait.look_at) || atomic_exchange(&wait.is_looked_at, true))
		return;
	wait.look_at = detach_check(now);
	if (!leadline_link_is_over())
		look_for_choice();
	atomic_store(&wait.is_looked_at, false);
}

PyObject *line_module_wait(PyObject *self, PyObject *args)
{
	char why[WHY_BYTES] = "its path is too long";
	const char *path;
	PyObject *then;

	(void)self;
	if (!PyArg_ParseTuple(args, "sO", &path, &then))
		return answer(false);
	if (strlen(path) < sizeof wait.path) {
		memcpy(wait.path, path, strlen(path) + 1);
		Py_INCREF(then);
		wait.then = then;
		if (line_hooks_wait(look, why, sizeof why))
			return answer(true);
	}
	tell_not_counted(why);
	return answer(false);
}

bool line_module_start_all(void)
{
	unsigned w = wants();
	char why[WHY_BYTES];
	bool is_started = w & LINE_WANT_TIMES || !w || start(LINE_CODES_ALL, "", why);

	PyErr_Clear();
	return is_started;
}

PyObject *line_module_add(PyObject *self, PyObject *code)
{
	(void)self;
	if (!PyCode_Check(code) || !line_codes_add((PyCodeObject *)code))
		return answer(false);
	line_hooks_arm((PyCodeObject *)code);
	return answer(true);
}

PyObject *line_module_found(PyObject *self, PyObject *pattern)
{
	long i = PyLong_AsLong(pattern);

	(void)self;
	PyErr_Clear();
	return PyLong_FromLong(i < 0 || i > UINT32_MAX ? -1 : line_codes_found((uint32_t)i));
}

PyObject *line_module_near(PyObject *self, PyObject *args)
{
	struct {
		uint32_t pattern;
		char text[NEAR_BYTES];
	} record = { 0 };
	const char *text;

	(void)self;
	if (!PyArg_ParseTuple(args, "Is", &record.pattern, &text))
		return answer(false);
	strncpy(record.text, text, sizeof record.text - 1);
	return answer(leadline_link_emit(TRACE_RECORD_LINES_NEAR, &record,
		(uint32_t)(offsetof(__typeof__(record), text) + strlen(record.text))));
}

PyObject *line_module_replaced(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return answer(line_hooks_are_replaced());
}

PyObject *line_module_stop(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	if (compat_is_ours())
		line_hooks_stop();
	return answer(true);
}
