/* SPDX-License-Identifier: MIT
 *
 * Lines and calls traced together: a line's own time is what its function's calling context counts as its own (tree.h), so that the functions it
 * calls are told apart whether their lines are counted or not. */
#ifndef AGENT_LINES_LINE_CALLS_H
#define AGENT_LINES_LINE_CALLS_H

#include "agent/lines/lines.h"

#pragma GCC visibility push(hidden)

/* NULL: calls are not traced, or without a clock. */
const struct lines_calls *line_calls(void);

#pragma GCC visibility pop

#endif
