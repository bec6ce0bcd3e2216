/* SPDX-License-Identifier: MIT
 *
 * What Python code can ask of line counting: rows for the module's table. Functions answer with a
 * bool and do not raise.
 *
 *	lines_start(patterns, library)	begins: True, else why not; patterns separated by commas, the library's folder
 *	lines_wait(path, function)	calls the function once there is such a file, in whichever thread has an event then
 *	lines_add(code)			counts the lines of a code object
 *	lines_found(i)			how many code objects pattern i chose, from 0; -1: no such
 *	lines_near(i, text)		what pattern i, which chose none, may have meant
 *	lines_stop()			ends */
#ifndef AGENT_LINES_LINE_MODULE_H
#define AGENT_LINES_LINE_MODULE_H

#include <stdbool.h>

#include "agent/core/compat.h"

#pragma GCC visibility push(hidden)

/* Counts every function's lines and instructions when the session asks for that and selects none. */
bool line_module_start_all(void);

PyObject *line_module_start(PyObject *self, PyObject *args);
PyObject *line_module_wait(PyObject *self, PyObject *args);
PyObject *line_module_add(PyObject *self, PyObject *code);
PyObject *line_module_found(PyObject *self, PyObject *pattern);
PyObject *line_module_near(PyObject *self, PyObject *args);
PyObject *line_module_at_end(PyObject *self, PyObject *function);
PyObject *line_module_replaced(PyObject *self, PyObject *unused);
PyObject *line_module_stop(PyObject *self, PyObject *unused);

#pragma GCC visibility pop

#define LINE_MODULE_METHODS                                                                     \
	{ "lines_start", line_module_start, METH_VARARGS, "begin to count lines" },             \
		{ "lines_wait", line_module_wait, METH_VARARGS, "begin when there is a file" }, \
		{ "lines_add", line_module_add, METH_O, "count the lines of a code object" },   \
		{ "lines_found", line_module_found, METH_O, "code objects a pattern chose" },   \
		{ "lines_near", line_module_near, METH_VARARGS, "what it may have meant" },     \
		{ "lines_at_end", line_module_at_end, METH_O,                                   \
			"call this at the end, if a pattern chose nothing" },                   \
		{ "lines_replaced", line_module_replaced, METH_NOARGS,                          \
			"whether the program traces itself" },                                  \
	{                                                                                       \
		"lines_stop", line_module_stop, METH_NOARGS, "count lines no more"              \
	}

#endif
