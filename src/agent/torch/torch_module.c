/* SPDX-License-Identifier: MIT
 * See torch_module.h. */
#include "agent/torch/torch_module.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/link.h"
#include "agent/torch/itt.h"
#include "agent/torch/modules.h"
#include "agent/torch/ops.h"
#include "agent/torch/places.h"
#include "wire/op_area.h"

static const char variable[] = "INTEL_LIBITTNOTIFY64";

/* In the C library's environment alone: os.environ was read before and shows nothing of it. */
PyObject *torch_module_load(PyObject *self, PyObject *path)
{
	const char *text = PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) : NULL;
	bool is_named;

	(void)self;
	PyErr_Clear();
	if (!text) {
		unsetenv(variable);
		Py_RETURN_TRUE;
	}
	is_named = !getenv(variable) && ops_start() && setenv(variable, text, 1) == 0;
	return PyBool_FromLong(is_named);
}

PyObject *torch_module_state(PyObject *self, PyObject *args)
{
	enum { TEXT_BYTES = 300 };
	unsigned char record[sizeof(struct op_torch) + TEXT_BYTES];
	struct op_torch head = { 0 };
	const char *text;
	size_t n;
	int on;

	(void)self;
	if (!PyArg_ParseTuple(args, "psI", &on, &text, &head.n_threads_unseen))
		return NULL;
	head.state = on ? OP_TORCH_ON : OP_TORCH_CANNOT;
	n = strnlen(text, TEXT_BYTES);
	memcpy(record, &head, sizeof head);
	memcpy(record + sizeof head, text, n);
	return PyBool_FromLong(
		leadline_link_emit(TRACE_RECORD_TORCH, record, (uint32_t)(sizeof head + n)));
}

PyObject *torch_module_now(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyLong_FromUnsignedLongLong(leadline_link_now());
}

PyObject *torch_module_gap(PyObject *self, PyObject *since)
{
	struct op_gap gap = { 0 };
	uint64_t now = leadline_link_now();

	(void)self;
	if (!PyLong_Check(since))
		Py_RETURN_NONE;
	gap.start = PyLong_AsUnsignedLongLongMask(since);
	gap.ticks = now > gap.start ? now - gap.start : 0;
	leadline_link_emit(TRACE_RECORD_OP_GAP, &gap, sizeof gap);
	Py_RETURN_NONE;
}

PyObject *torch_module_span(PyObject *self, PyObject *args)
{
	unsigned long long since;
	const char *name;

	(void)self;
	if (!PyArg_ParseTuple(args, "Ks", &since, &name))
		return NULL;
	ops_add(ops_name(name), since);
	Py_RETURN_NONE;
}

PyObject *torch_module_compiled(PyObject *self, PyObject *text)
{
	Py_ssize_t n = 0;
	const char *json = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;

	(void)self;
	PyErr_Clear();
	return PyBool_FromLong(json && n <= OP_COMPILED_BYTES &&
		leadline_link_emit(TRACE_RECORD_OP_COMPILED, json, (uint32_t)n));
}

PyObject *torch_module_rehearse(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyBool_FromLong(ops_rehearse());
}

PyObject *torch_module_rehearsed(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyLong_FromUnsignedLongLong(ops_rehearsed());
}

PyObject *torch_module_cost(PyObject *self, PyObject *ns)
{
	struct op_cost cost = { .ns = (uint32_t)PyLong_AsUnsignedLongMask(ns) };

	(void)self;
	if (PyErr_Occurred())
		return NULL;
	return PyBool_FromLong(leadline_link_emit(TRACE_RECORD_OP_COST, &cost, sizeof cost));
}

/* Pending calls run in the main thread, between two of its instructions. */
static int call_pending(void *function)
{
	PyObject *result = PyObject_CallFunctionObjArgs(function, NULL);

	Py_XDECREF(result);
	Py_DECREF((PyObject *)function);
	PyErr_Clear();
	return 0;
}

static PyObject *switch_off; /* owned, until it is called */

static void when_over(void)
{
	Py_AddPendingCall(call_pending, switch_off);
}

PyObject *torch_module_open(PyObject *self, PyObject *args)
{
	static char path[4096]; /* for good */
	const char *text = NULL;

	(void)self;
	if (!PyArg_ParseTuple(args, "sO", &text, &switch_off))
		PyErr_Clear();
	else
		Py_INCREF(switch_off);
	if (text && strlen(text) < sizeof path) {
		memcpy(path, text, strlen(text) + 1);
		places_set_torch(path);
	}
	if (text && itt_is_used())
		itt_open(when_over);
	return PyBool_FromLong(itt_is_used());
}

PyObject *torch_module_watch_modules(PyObject *self, PyObject *args)
{
	PyObject *type, *ask;

	(void)self;
	if (!PyArg_ParseTuple(args, "OO", &type, &ask))
		return NULL;
	if (PyType_Check(type))
		modules_watch(type, ask);
	Py_RETURN_NONE;
}

PyObject *torch_module_modules(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return places_modules();
}

PyObject *torch_module_place(PyObject *self, PyObject *args)
{
	PyObject *module, *parent;
	const char *path;

	(void)self;
	if (!PyArg_ParseTuple(args, "OOs", &module, &parent, &path))
		return NULL;
	modules_place(module, parent == Py_None ? NULL : parent, path);
	Py_RETURN_NONE;
}

/* A weak reference calls it, so it raises nothing. */
PyObject *torch_module_gone(PyObject *self, PyObject *reference)
{
	PyObject *address = PyObject_GetAttrString(reference, "address");

	(void)self;
	if (address && PyLong_Check(address))
		modules_gone((void *)(uintptr_t)PyLong_AsUnsignedLongLongMask(address));
	Py_XDECREF(address);
	PyErr_Clear();
	Py_RETURN_NONE;
}

PyObject *torch_module_in_main(PyObject *self, PyObject *function)
{
	(void)self;
	Py_INCREF(function);
	if (Py_AddPendingCall(call_pending, function) == 0)
		Py_RETURN_TRUE;
	Py_DECREF(function);
	Py_RETURN_FALSE;
}
