/* SPDX-License-Identifier: MIT
 *
 * How the interpreter's events reach the line counters. Two implementations, one for each kind of
 * hook; meson.build takes the one for the version:
 *
 *	lines_trace.c		up to 3.11: the trace function of every thread
 *	lines_monitoring.c	from 3.12 on: local events of the selected code objects only
 *
 * All need the GIL where there is one, and leave no Python error behind. */
#ifndef AGENT_LINES_LINE_HOOKS_H
#define AGENT_LINES_LINE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/compat.h"

#pragma GCC visibility push(hidden)

/* Begins. On failure ret_why says what is in the way, for the user. */
bool line_hooks_start(char *ret_why, size_t n_why);
/* Ends either; what is open is closed. */
void line_hooks_stop(void);

/* Instead of counting: calls look() at events of all code, also in a loop that calls nothing. It must be cheap, and may end this
 * and begin to count. */
typedef void line_hooks_look_fn(void);
bool line_hooks_wait(line_hooks_look_fn *look, char *ret_why, size_t n_why);

/* The program has put a trace function of its own into the place of ours, in the calling thread. From 3.12 on there is room for both. */
bool line_hooks_are_replaced(void);

/* Lines of this code object are to be counted from its next call on. */
void line_hooks_arm(PyCodeObject *code);

#pragma GCC visibility pop

#endif
