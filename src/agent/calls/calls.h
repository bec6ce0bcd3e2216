/* SPDX-License-Identifier: MIT
 *
 * The hooks that turn what the interpreter tells into events of the tree: calls_monitoring.c (sys.monitoring,
 * 3.12 on) or calls_profile.c (profile functions, before). One of the two is in an agent. */
#ifndef AGENT_CALLS_CALLS_H
#define AGENT_CALLS_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Starts tracing all threads. Needs the GIL.
 *	after_site: quiet until the functions that are running now have ended, for a start out of
 *	sitecustomize; else each thread's stack begins with what runs when it is first seen
 *	with_clock: else calls are only counted
 * On failure ret_why says what is in the way, for the user. */
bool calls_start(bool after_site, bool with_clock, char *ret_why, size_t n_why);
void calls_stop(void);

#pragma GCC visibility pop

#endif
