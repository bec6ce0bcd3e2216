/* SPDX-License-Identifier: MIT
 * A thread seen in the middle of what it does: its running functions go onto the shadow stack, uncalled. */
#ifndef AGENT_CORE_STACK_SEED_H
#define AGENT_CORE_STACK_SEED_H

#include <stdbool.h>

#include "agent/core/compat.h"

struct tracer;

#pragma GCC visibility push(hidden)

/* Makes the calling thread's tracer. innermost: the innermost frame that is to be on the stack, or NULL. */
struct tracer *stack_seed_attach(PyFrameObject *innermost);
/* The same at the thread's first event of sys.monitoring. begins: what begins or goes on is not on the stack yet. */
struct tracer *stack_seed_attach_at(bool begins);

/* For a start out of sitecustomize, which is quiet until the program begins. */
struct stack_seed_site {
	bool is_over; /* the functions that ran at the start have ended */
};

/* The outermost function ends, or begins: true when this one begins the program. In between the interpreter
 * looks for the script, by functions of the import system. */
void stack_seed_site_leave(struct stack_seed_site *s, PyFrameObject *frame);
bool stack_seed_site_enter(const struct stack_seed_site *s, PyFrameObject *frame);

#pragma GCC visibility pop

#endif
