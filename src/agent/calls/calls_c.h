/* SPDX-License-Identifier: MIT
 * Which C function a CALL event of sys.monitoring is about. */
#ifndef AGENT_CALLS_CALLS_C_H
#define AGENT_CALLS_CALLS_C_H

#include "agent/core/compat.h"

/* The C function behind what is called, NULL when it is something else: classes, Python functions and
 * objects with __call__ are seen by what they call. As cProfile sees it. */
static inline const PyMethodDef *c_function(PyObject *callable, PyObject *first, PyObject *missing)
{
	PyTypeObject *type = Py_TYPE(callable);

	if (type == &PyFunction_Type)
		return NULL;
	if (type == &PyCFunction_Type || type == &PyCMethod_Type) /* nobody can derive from them */
		return ((PyCFunctionObject *)callable)->m_ml;
	if (type == &PyMethodDescr_Type && first != missing &&
		PyObject_TypeCheck(first, PyDescr_TYPE(callable)))
		return ((PyMethodDescrObject *)callable)->d_method;
	return NULL;
}

/* Its own events follow. */
static inline bool is_python_function(PyObject *callable)
{
	return Py_TYPE(callable) == &PyFunction_Type || Py_TYPE(callable) == &PyMethod_Type;
}

#endif
