/* SPDX-License-Identifier: MIT
 * See wrap.h. */
#include "agent/torch/wrap.h"

struct around {
	PyObject ob_base;
	PyObject *original, *before, *after; /* owned; NULL: none */
	int starts_thread;
};

static PyTypeObject around_type;

static PyObject *around_new(PyObject *original, PyObject *before, PyObject *after)
{
	struct around *a;

	if (!(around_type.tp_flags & Py_TPFLAGS_READY) && PyType_Ready(&around_type) < 0)
		return NULL;
	a = PyObject_GC_New(struct around, &around_type);
	if (!a)
		return NULL;
	Py_INCREF(original);
	Py_XINCREF(before);
	Py_XINCREF(after);
	a->original = original;
	a->before = before;
	a->after = after;
	a->starts_thread = 0;
	PyObject_GC_Track((PyObject *)a);
	return (PyObject *)a;
}

static void around_dealloc(PyObject *self)
{
	struct around *a = (struct around *)self;

	PyObject_GC_UnTrack(self);
	Py_XDECREF(a->original);
	Py_XDECREF(a->before);
	Py_XDECREF(a->after);
	PyObject_GC_Del(self);
}

static int around_traverse(PyObject *self, visitproc visit, void *arg)
{
	const struct around *a = (const struct around *)self;

	Py_VISIT(a->original);
	Py_VISIT(a->before);
	Py_VISIT(a->after);
	return 0;
}

/* Calls what is ours; what it raises is nothing to the program, whose own error stays. */
static void call_own(PyObject *function, PyObject *argument)
{
	struct compat_error e;
	PyObject *result;

	if (!function)
		return;
	e = compat_error_take();
	result = PyObject_CallFunctionObjArgs(function, argument, NULL);
	Py_XDECREF(result);
	PyErr_Clear();
	compat_error_put(e);
}

/* The arguments with the first one, a thread's function, in our hands; a new reference. */
static PyObject *thread_arguments(const struct around *a, PyObject *args)
{
	Py_ssize_t n = PyTuple_GET_SIZE(args);
	PyObject *with, *body;

	if (n < 1 || !PyCallable_Check(PyTuple_GET_ITEM(args, 0))) {
		Py_INCREF(args); /* the original says what is wrong */
		return args;
	}
	with = PyTuple_New(n);
	body = with ? around_new(PyTuple_GET_ITEM(args, 0), a->before, a->after) : NULL;
	if (!body) {
		Py_XDECREF(with);
		return NULL;
	}
	PyTuple_SET_ITEM(with, 0, body);
	for (Py_ssize_t i = 1; i < n; i++) {
		Py_INCREF(PyTuple_GET_ITEM(args, i));
		PyTuple_SET_ITEM(with, i, PyTuple_GET_ITEM(args, i));
	}
	return with;
}

static PyObject *around_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct around *a = (struct around *)self;
	PyObject *result;

	if (a->starts_thread) {
		args = thread_arguments(a, args);
		if (!args)
			return NULL;
		result = PyObject_Call(a->original, args, kwargs);
		Py_DECREF(args);
		return result;
	}
	call_own(a->before, NULL);
	result = PyObject_Call(a->original, args, kwargs);
	call_own(a->after, result ? Py_True : Py_False);
	return result;
}

static PyObject *around_repr(PyObject *self)
{
	return PyObject_Repr(((struct around *)self)->original);
}

static PyObject *around_getattr(PyObject *self, PyObject *name)
{
	return PyObject_GetAttr(((struct around *)self)->original, name);
}

static PyTypeObject around_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "builtin_function_or_method",
	.tp_basicsize = sizeof(struct around),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.tp_dealloc = around_dealloc,
	.tp_traverse = around_traverse,
	.tp_call = around_call,
	.tp_repr = around_repr,
	.tp_getattro = around_getattr,
};

static PyObject *or_null(PyObject *o)
{
	return o == Py_None ? NULL : o;
}

PyObject *wrap_make(PyObject *self, PyObject *args)
{
	PyObject *original, *before, *after;

	(void)self;
	if (!PyArg_ParseTuple(args, "OOO", &original, &before, &after))
		return NULL;
	return around_new(original, or_null(before), or_null(after));
}

PyObject *wrap_make_thread(PyObject *self, PyObject *args)
{
	PyObject *made = wrap_make(self, args);

	if (made)
		((struct around *)made)->starts_thread = 1;
	return made;
}
