/* SPDX-License-Identifier: MIT
 * See stack_seed.h. */
#include "agent/core/stack_seed.h"

#include "agent/calls/exclude.h"
#include "agent/calls/tree.h"

enum { FRAMES_MOST = 1 << 20 };

/* From the outermost on: the chain is reversed in an array first. */
static void seed(struct tracer *t, PyFrameObject *innermost)
{
	PyFrameObject *frame = innermost;
	Py_ssize_t n = 0;
	PyObject *list = PyList_New(0);

	Py_XINCREF(frame);
	while (list && frame && n < FRAMES_MOST) {
		PyFrameObject *back = compat_frame_back(frame);

		if (PyList_Append(list, (PyObject *)compat_frame_code(frame)) == 0)
			n++;
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	while (n-- > 0) {
		const void *code = PyList_GET_ITEM(list, n);

		if (!exclude_is_set || !exclude_has(code))
			tree_push(t, tree_child(t, t->top->node, code, NULL), code, t->last);
	}
	Py_XDECREF(list);
	PyErr_Clear();
}

struct tracer *stack_seed_attach(PyFrameObject *innermost)
{
	struct tracer *t = tree_attach();

	if (t)
		seed(t, innermost);
	return t;
}

struct tracer *stack_seed_attach_at(bool begins)
{
	PyFrameObject *frame = PyEval_GetFrame(), *back;
	struct tracer *t;

	if (!begins || !frame)
		return stack_seed_attach(frame);
	back = compat_frame_back(frame);
	t = stack_seed_attach(back);
	Py_XDECREF(back);
	return t;
}

static bool is_outermost(PyFrameObject *frame)
{
	PyFrameObject *back = compat_frame_back(frame);

	Py_XDECREF(back);
	return !back;
}

void stack_seed_site_leave(struct stack_seed_site *s, PyFrameObject *frame)
{
	s->is_over |= is_outermost(frame);
}

bool stack_seed_site_enter(const struct stack_seed_site *s, PyFrameObject *frame)
{
	PyObject *file;

	if (!s->is_over || !is_outermost(frame))
		return false;
	file = compat_frame_code(frame)->co_filename;
	return PyUnicode_CompareWithASCIIString(file, "<frozen zipimport>") != 0 &&
		PyUnicode_CompareWithASCIIString(file, "<frozen importlib._bootstrap_external>") !=
		0;
}
