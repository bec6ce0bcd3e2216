/* SPDX-License-Identifier: MIT
 *
 * A callable around another one of the program's: it calls `before`, then the original, then `after`, and gives back what the
 * original gave or raised. It shows the original's attributes and repr, and is no frame of a stack or a traceback, so a
 * program does not notice it. */
#ifndef AGENT_TORCH_WRAP_H
#define AGENT_TORCH_WRAP_H

#include "agent/core/compat.h"

#pragma GCC visibility push(hidden)

/* around(original, before, after): before is called without, after with an argument: whether the original returned.
 * None: nothing to call. What they raise is dropped. */
PyObject *wrap_make(PyObject *self, PyObject *args);
/* The same of an original that takes a function to run in a new thread as its first argument: before and after go around
 * that function. */
PyObject *wrap_make_thread(PyObject *self, PyObject *args);

#pragma GCC visibility pop

#endif
