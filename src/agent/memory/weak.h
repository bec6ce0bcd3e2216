/* SPDX-License-Identifier: MIT
 *
 * Included before anything else into each file of the preloaded library, those that it shares with the agents as well. It is loaded into
 * every program that the watched one starts, whatever that is: one without threads, before glibc 2.34, has no pthread_key_create, and
 * other C libraries lack other names. A name that is missing must not keep such a program from starting. They are looked at
 * (weak_are_there) before the first is called. */
#ifndef AGENT_MEMORY_WEAK_H
#define AGENT_MEMORY_WEAK_H

#pragma weak __register_atfork
#pragma weak getauxval
#pragma weak madvise
#pragma weak pthread_key_create
#pragma weak pthread_mutex_lock
#pragma weak pthread_mutex_unlock
#pragma weak pthread_self
#pragma weak pthread_setcancelstate
#pragma weak pthread_setspecific
#pragma weak pthread_sigmask
#pragma weak recvmsg
#pragma weak secure_getenv
#pragma weak setsockopt
#pragma weak sigfillset

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#pragma GCC visibility push(default)
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
extern __typeof__(lseek) lseek __attribute__((weak)); /* lseek64, by its header */
#pragma GCC visibility pop

static inline bool weak_are_there(void)
{
	return __register_atfork && getauxval && lseek && madvise && pthread_key_create &&
		pthread_mutex_lock && pthread_mutex_unlock && pthread_self &&
		pthread_setcancelstate && pthread_setspecific && pthread_sigmask && recvmsg &&
		secure_getenv && setsockopt && sigfillset;
}

#endif
