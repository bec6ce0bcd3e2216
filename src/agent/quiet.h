/* SPDX-License-Identifier: MIT
 *
 * When nobody listens any more (the tool was killed, or has seen enough), the hooks come out, and the program
 * runs as if it had never been traced. Hooks ask now and then, by the time they have read anyway:
 *
 *	if (unlikely(now >= t->check_at))
 *		t->check_at = quiet_check(now);
 */
#ifndef AGENT_QUIET_H
#define AGENT_QUIET_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { QUIET_CHECK_MS = 2, QUIET_CHECK_CALLS = 1 << 16 };

/* When to ask again, in the session's clock. When nobody listens, the interpreter's main thread takes the hooks out as
 * soon as it runs Python code. Any thread may ask. */
uint64_t quiet_check(uint64_t now);

#pragma GCC visibility pop

#endif
