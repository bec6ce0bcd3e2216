/* SPDX-License-Identifier: MIT
 *
 * pthread_atfork without the part of it that C libraries link into each library: before glibc 2.34 it is in none that an agent could
 * find at run time. Agents name no version of libc (docs/decisions/0051-agents-anywhere.md), so they call what it calls, which
 * glibc has had under this name since 2.3.2. */
#ifndef AGENT_CORE_ATFORK_H
#define AGENT_CORE_ATFORK_H

#pragma GCC visibility push(default)
extern int __register_atfork(
	void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library);
#pragma GCC visibility pop
extern void *__dso_handle __attribute__((visibility("hidden"))); /* of crtbeginS.o: this library */

/* 0, or an errno. */
static inline int atfork_child(void (*child)(void))
{
	return __register_atfork(NULL, NULL, child, __dso_handle);
}

#endif
