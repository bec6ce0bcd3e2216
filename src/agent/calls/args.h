/* SPDX-License-Identifier: MIT
 *
 * What functions are called with (wire/args_area.h), so that work done again can be found. Looks at the arguments where
 * they lie in the frame and at objects of the interpreter's own types only: nothing of the program's is called, nothing
 * is made, no reference is counted. One sketch for each function of each thread, so there is no lock.
 *
 *	calls_enter(t, code, NULL, mode);
 *	args_look(t, code, activation, with_clock);	of the call on top */
#ifndef AGENT_CALLS_ARGS_H
#define AGENT_CALLS_ARGS_H

#include <stdbool.h>

#include "agent/calls/tree.h"
#include "agent/core/compat.h"

#pragma GCC visibility push(hidden)

/* Whether the session wants it; never while costs are measured. */
bool args_are_wanted(void);
/* In a forked child. */
void args_forget(void);

/* activation: as compat_argument wants it. What looking takes is nobody's time. */
void args_look(struct tracer *t, const PyCodeObject *code, const void *activation, bool with_clock);

#pragma GCC visibility pop

#endif
