/* SPDX-License-Identifier: MIT
 *
 * What the hooks do beside calling the real function: count, sample now and then, notice releases of what was sampled.
 *
 *	if (!memory_enter())			quiet, or inside another hook: the outermost counts
 *		return real.malloc(n);
 *	p = real.malloc(n);
 *	memory_took(p, n, MEMORY_MALLOC);
 *	memory_leave();
 *
 *	memory_releases(p);			before the real function releases it
 *	real.free(p);
 *
 * Nothing here allocates, takes a lock of the program's, prints or changes errno. States: before the library has begun, when there
 * is no session or it has ended, and in programs without Python everything is off, for one branch. A forked child finds the page
 * with the state wiped and says hello with its first allocation. */
#ifndef AGENT_MEMORY_MEMORY_H
#define AGENT_MEMORY_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/memory/live.h"
#include "wire/memory_area.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum memory_state {
	MEMORY_NEW, /* 0: what a wiped page says */
	MEMORY_JOINING,
	MEMORY_ON,
	MEMORY_OFF,
};

/* The page the kernel wipes in a forked child. */
struct memory_hot {
	_Atomic uint32_t state; /* enum memory_state */
	uint32_t epoch;         /* of the link */
	struct memory_area *area;
	uint64_t period_bytes;
};

struct memory_self {
	struct memory_counter *counter; /* NULL: none yet, or shared */
	uint32_t epoch;                 /* in which it was claimed */
	uint32_t depth;                 /* in a hook */
	int32_t tid;
	bool is_shared;
};

#pragma GCC visibility push(hidden)

extern struct memory_hot *_Atomic memory_hot;
extern struct live *memory_live;
extern _Thread_local struct memory_self memory_self __attribute__((tls_model("initial-exec")));

/* From MEMORY_NEW; whether it is on now. */
bool memory_join(void);
/* The slow parts of the functions below. */
void memory_take_slowly(void *p, size_t n, enum memory_domain domain);
void memory_sample(void *p, size_t n, enum memory_domain domain);
bool memory_release(const void *p);
void memory_unmapped(const void *p, size_t n);
/* Whether a sampled mapping began there, which is released then. */
bool memory_remapped(const void *p, size_t n);
/* After memory_forget: it is there still. */
void memory_keep(const void *p);
/* Takes it out of the table without a record; *ret_t_ns is when. */
bool memory_forget(const void *p, uint64_t *ret_t_ns);
void memory_tell_release(const void *p, uint64_t t_ns);

static inline bool memory_enter(void)
{
	uint32_t state = atomic_load_explicit(
		&atomic_load_explicit(&memory_hot, memory_order_relaxed)->state,
		memory_order_relaxed);

	if (unlikely(state != MEMORY_ON) && (state != MEMORY_NEW || !memory_join()))
		return false;
	if (unlikely(memory_self.depth))
		return false;
	memory_self.depth = 1;
	return true;
}

static inline void memory_leave(void)
{
	memory_self.depth = 0;
}

static inline void memory_took(void *p, size_t n, enum memory_domain domain)
{
	struct memory_counter *c = memory_self.counter;
	uint64_t now_bytes;

	if (unlikely(!p))
		return;
	if (unlikely(!c)) {
		memory_take_slowly(p, n, domain);
		return;
	}
	now_bytes = c->allocated_bytes + n;
	c->allocated_bytes = now_bytes;
	c->n_allocated++;
	if (unlikely(now_bytes >= c->next_bytes))
		memory_sample(p, n, domain);
}

static inline bool memory_may_be_sampled(const void *p)
{
	return unlikely(memory_live && live_may_have(memory_live, (uintptr_t)p));
}

static inline void memory_releases(const void *p)
{
	if (memory_may_be_sampled(p))
		memory_release(p);
}

#pragma GCC visibility pop

#endif
