/* SPDX-License-Identifier: MIT
 *
 * The qualified name of a function where code objects do not know it (up to 3.10): looked for among the
 * classes of its module, in dictionaries only, so that no Python code runs. */
#ifndef AGENT_LINES_LINE_NAMES_H
#define AGENT_LINES_LINE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/compat.h"

#pragma GCC visibility push(hidden)

/* False when it is in no class. Leaves no error behind. */
bool line_names_find(PyObject *globals, PyCodeObject *code, char *to, size_t size);

#pragma GCC visibility pop

#endif
