/* SPDX-License-Identifier: MIT
 * A thread seen in the middle of what it does: its running functions go onto the shadow stack, uncalled. */
#ifndef AGENT_SEED_H
#define AGENT_SEED_H

#include <stdbool.h>

#include "agent/compat.h"

struct tracer;

#pragma GCC visibility push(hidden)

/* Makes the calling thread's tracer. innermost: the innermost frame that is to be on the stack, or NULL. */
struct tracer *seed_attach(PyFrameObject *innermost);

#pragma GCC visibility pop

#endif
