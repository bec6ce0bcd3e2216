/* SPDX-License-Identifier: MIT
 *
 * When nobody listens any more (the tool was killed, or has seen enough), the hooks come out, and the program
 * runs as if it had never been traced. Hooks ask now and then, by the time they have read anyway, or by counting:
 *
 *	if (unlikely(now >= t->check_at))
 *		t->check_at = detach_check(now);
 *
 * Whichever thread sees it first takes the hooks of all threads out, on the spot: others may wait in a C function, or run a
 * loop that calls nothing, for as long as the program lives. */
#ifndef AGENT_CORE_DETACH_H
#define AGENT_CORE_DETACH_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum {
	QUIET_CHECK_MS = 2,
	QUIET_CHECK_EVENTS = 64, /* of a thread, where no clock is read */
};

/* When to ask again, in the session's clock. In a hook, with the GIL where there is one; any thread. When nobody listens,
 * all hooks are out when it returns; what they work on is there still. */
uint64_t detach_check(uint64_t now);

#pragma GCC visibility pop

#endif
