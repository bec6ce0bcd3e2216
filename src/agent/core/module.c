/* SPDX-License-Identifier: MIT
 *
 * The agent as a Python module: loaded by bootstrap/sitecustomize.py (or by the leadline package), it says
 * hello to the session and starts the hooks the session's options ask for. Nothing here may raise into the
 * program: functions answer with what became of it.
 *
 *	attach()		True when the session LEADLINE_SESSION names has answered; a former one is left
 *	start(after_site)	True when tracing has begun, or will when site is done; else why not
 *	why()			after either: an errno, or 0; EPROTO when the tool is of another version
 *	stop()			takes the hooks out; what was counted stays the tool's, start() goes on
 *	is_ours()		False in an interpreter that cannot be traced, where none of the above does anything */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/calls/args.h"
#include "agent/calls/budget.h"
#include "agent/calls/calls.h"
#include "agent/calls/exclude.h"
#include "agent/calls/tree.h"
#include "agent/core/atfork.h"
#include "agent/core/calibrate.h"
#include "agent/core/codes.h"
#include "agent/core/compat.h"
#include "agent/core/link.h"
#include "agent/core/proof.h"
#include "agent/lines/line_codes.h"
#include "agent/lines/line_module.h"
#include "agent/torch/modules.h"
#include "agent/torch/ops.h"
#include "agent/torch/places.h"
#include "agent/torch/torch_module.h"
#include "wire/session_layout.h"
#include "wire/trace.h"

static bool has_begun;
static int failed_with; /* an errno: why it could not begin */

/* ---- what the user should know --------------------------------------------------------------- */

static void note(const char *text)
{
	leadline_link_emit(TRACE_RECORD_NOTE, text, (uint32_t)strlen(text));
}

/* ---- start ----------------------------------------------------------------------------------- */

/* A forked child begins with nothing; its first event says hello. */
static void in_child(void)
{
	tree_forget();
	args_forget();
	codes_forget();
	line_codes_forget();
	budget_forget();
	ops_forget();
	places_forget();
	modules_forget();
}

static bool begin(void)
{
	char build[SESSION_BUILD_BYTES];
	int result;

	if (has_begun)
		return true;
	snprintf(build, sizeof build, "cpython %.16s" COMPAT_BUILD_SUFFIX, PY_VERSION);
	result = leadline_link_open(build);
	failed_with = result == -EALREADY ? failed_with : -result;
	if (result < 0 || !leadline_link_thread() || !codes_start() || atfork_child(in_child) != 0)
		return false;
	return has_begun = true;
}

static PyObject *attach(PyObject *self, PyObject *unused)
{
	bool is_attached;
	int result;

	(void)self;
	(void)unused;
	if (!compat_is_ours()) {
		failed_with = ENOTSUP;
		Py_RETURN_FALSE;
	}
	if (has_begun) {
		calls_stop();
		tree_pause();
		codes_forget();
		args_forget();
		line_codes_pause(leadline_link_now());
		budget_forget();
		result = leadline_link_reopen();
		failed_with = -result;
		is_attached = result == 0 && leadline_link_thread();
	} else {
		is_attached = begin();
	}
	PyErr_Clear();
	return PyBool_FromLong(is_attached);
}

/* Measured once, told to each session. With other threads about, or other interpreters, it is not possible. */
static const struct trace_cost *tell_cost(void)
{
	static struct trace_cost cost;
	static bool is_known;

	if (!is_known && compat_is_first() &&
		!PyThreadState_Next(PyInterpreterState_ThreadHead(PyThreadState_Get()->interp)))
		is_known = calibrate(&cost);
	if (is_known)
		tree_set_cost(&cost);
	if (is_known)
		leadline_link_emit(TRACE_RECORD_COST, &cost, sizeof cost);
	return &cost;
}

/* False: this interpreter cannot. */
static bool set_budget(unsigned percent, const struct trace_cost *cost)
{
	if (!percent)
		return true;
	if (!COMPAT_HAS_BLOCKS) {
		note("--budget needs Python 3.12 or later, so calls are not traced: --trace counts them all, and without either the program is sampled");
		return false;
	}
	budget_set(percent, cost);
	return true;
}

static PyObject *start(PyObject *self, PyObject *after_site)
{
	struct agent_options o;
	char why[200] = "", text[300];
	bool is_started, is_timed;

	(void)self;
	if (!compat_is_ours())
		return PyUnicode_FromString("this interpreter is not the one the program began in");
	if (!begin() || !leadline_link_is_live() || !tree_start(COMPAT_IS_FREE_THREADED)) {
		PyErr_Clear();
		Py_RETURN_FALSE;
	}
	o = leadline_link_options();
	is_timed = o.calls == AGENT_CALLS_TIMED;
	if (!o.calls) {
		line_module_start_all();
		Py_RETURN_TRUE;
	}
	if (is_timed && !set_budget(o.budget_pct, tell_cost()))
		Py_RETURN_FALSE;
	if (!tree_start(COMPAT_IS_FREE_THREADED))
		Py_RETURN_FALSE;
	is_started = calls_start(PyObject_IsTrue(after_site) == 1, is_timed, why, sizeof why);
	line_module_start_all();
	PyErr_Clear();
	if (!is_started) {
		snprintf(text, sizeof text, "calls are not traced: %s", why);
		note(text);
		return PyUnicode_FromString(why);
	}
	Py_RETURN_TRUE;
}

static PyObject *why_not(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyLong_FromLong(failed_with);
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	if (compat_is_ours()) {
		calls_stop();
		tree_pause();
	}
	PyErr_Clear();
	Py_RETURN_NONE;
}

static PyObject *is_ours(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyBool_FromLong(compat_is_ours());
}

static PyObject *exclude(PyObject *self, PyObject *patterns)
{
	const char *text = PyUnicode_Check(patterns) ? PyUnicode_AsUTF8(patterns) : NULL;

	(void)self;
	if (!text || !begin())
		PyErr_Clear();
	else if (!exclude_set(text))
		note("--exclude has more patterns than fit: the first of them count");
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "attach", attach, METH_NOARGS, "attach(): reach the tool" },
	{ "exclude", exclude, METH_O, "exclude(patterns): before start" },
	{ "start", start, METH_O, "start(after_site): begin to trace" },
	{ "why", why_not, METH_NOARGS, "why(): the errno with which it failed" },
	{ "stop", stop, METH_NOARGS, "stop(): end it" },
	{ "is_ours", is_ours, METH_NOARGS, "is_ours(): whether this interpreter can be traced" },
	LINE_MODULE_METHODS,
	TORCH_MODULE_METHODS,
	{ 0 },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_leadline_agent",
	.m_size = -1,
	.m_methods = methods,
};

#pragma GCC visibility push(default)
PyMODINIT_FUNC PyInit__leadline_agent(void);
#pragma GCC visibility pop

PyMODINIT_FUNC PyInit__leadline_agent(void)
{
	const char *problem = proof_problem();
	PyObject *m;

	if (problem) {
		PyErr_Format(PyExc_ImportError,
			"it was built with the headers of CPython " PY_VERSION
			" and does not fit this interpreter (%s)",
			problem);
		return NULL;
	}
	m = PyModule_Create(&module);
	compat_module_made(m);
	return m;
}
