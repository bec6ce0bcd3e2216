/* SPDX-License-Identifier: MIT
 * See line_names.h. */
#include "agent/lines/line_names.h"

#include <stdio.h>

enum { CLASSES_DEEP = 4, UNWRAPPED_MOST = 8 };

/* Borrowed: what a decorator keeps of the function it was given; NULL: nothing known. */
static PyObject *inner_of(PyObject *o)
{
	static const char *const names[] = { "__func__", "fget", "func" };
	PyObject *found = NULL;

	if (PyFunction_Check(o)) {
		PyObject *attributes = ((PyFunctionObject *)o)->func_dict;

		return attributes ? PyDict_GetItemString(attributes, "__wrapped__") : NULL;
	}
	/* Members of types written in C: getting them runs no Python code. */
	if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE)
		return NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
		found = PyObject_GetAttrString(o, names[i]);
		PyErr_Clear();
	}
	Py_XDECREF(found); /* its owner keeps it */
	return found;
}

static bool is_of(PyObject *value, const PyCodeObject *code)
{
	for (int i = 0; value && i < UNWRAPPED_MOST; i++) {
		if (PyFunction_Check(value) &&
			PyFunction_GET_CODE(value) == (PyObject *)(uintptr_t)code)
			return true;
		value = inner_of(value);
	}
	return false;
}

static bool find(PyObject *in, PyCodeObject *code, char *to, size_t size, int deep)
{
	PyObject *name, *value;
	Py_ssize_t at = 0;

	while (deep < CLASSES_DEEP && PyDict_Next(in, &at, &name, &value)) {
		PyObject *members = PyType_Check(value) ? ((PyTypeObject *)value)->tp_dict : NULL;
		const char *text = members && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
		size_t n;

		if (!text || members == in)
			continue;
		n = (size_t)snprintf(to, size, "%s.", text);
		if (n >= size)
			continue;
		if (is_of(PyDict_GetItem(members, code->co_name), code))
			return snprintf(to + n, size - n, "%s", PyUnicode_AsUTF8(code->co_name)) >
				0;
		if (find(members, code, to + n, size - n, deep + 1))
			return true;
	}
	return false;
}

bool line_names_find(PyObject *globals, PyCodeObject *code, char *to, size_t size)
{
	bool found = PyUnicode_AsUTF8(code->co_name) && find(globals, code, to, size, 0);

	PyErr_Clear();
	return found;
}
