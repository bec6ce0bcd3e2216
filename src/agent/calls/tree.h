/* SPDX-License-Identifier: MIT
 *
 * What one thread has called: a shadow of its stack and its calling-context tree (wire/trace.h). Hooks of
 * all versions come down to four events; each reads the clock once, charges the time since the event before
 * to the function that ran, and moves the top of the stack:
 *
 *	tree_enter	a function begins		tree_leave	… ends, by return or exception
 *	tree_resume	a generator goes on		tree_suspend	… yields or awaits
 *
 *	struct tracer *t = tree_mine;		NULL: tree_attach() first
 *	tree_enter(t, code, NULL, true);	or (t, method_def, callable, true)
 *
 * No lock, no system call, nothing of Python on these paths; a context seen for the first time takes the
 * slow one (tree_child). Nodes lie in the session's memory and are the tool's whatever becomes of us.
 *
 * Functions are known by an address: that of the code object or of the PyMethodDef. codes.h tells when a
 * code object dies; then its address is not believed any more.
 *
 * When there is no room for another node, a context is folded: into the nearest caller that is the same
 * function (a recursive call then), else into the function's node directly below the thread's own. Counts and
 * times per function stay exact, contexts do not, and the thread's n_folded tells how often. Where not even a thread has room, its
 * events are counted as missed (leadline_link_missed).
 *
 * A thread that ends leaves its tree to the next that begins, once there have been many: what they called is counted together then. */
#ifndef AGENT_CALLS_TREE_H
#define AGENT_CALLS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/codes.h"
#include "agent/core/detach.h"
#include "wire/clock.h"
#include "wire/trace.h"

#pragma GCC visibility push(hidden)

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* One activation. The lowest stands for the thread itself. */
struct shadow {
	struct trace_node *node;
	const void *key;  /* of its function; NULL for the thread */
	uint64_t entered; /* or resumed */
	uint64_t ran;     /* before it was last suspended */
};

/* Which node a function has below a node. */
struct edge {
	const void *key; /* of the function, or the struct function itself; NULL: unused */
	const struct trace_node *parent;
	struct trace_node *node;
	const struct function *function;
};

/* A generator or coroutine between two of its runs. */
struct suspended {
	const void *activation; /* NULL: unused */
	uint64_t since, ran;
};

struct suspensions {
	struct suspended *items;
	uint32_t n, log2;
};

/* What an event adds to times, in ticks × 256: to those of the function that begins or goes on, and of its caller. */
struct tree_cost {
	uint64_t inside, outside;
};

struct tree_costs {
	struct tree_cost call, builtin, resume;
	uint64_t other; /* of a call that no node counts */
};

struct args_sketch;
struct greenlets;
struct timeline;

struct tracer {
	struct shadow *top;
	uint64_t last;           /* stamp of the event before */
	uint64_t check_at;       /* when to ask whether anybody listens … */
	uint64_t n_entered;      /* … by events, where no clock is read */
	struct tree_costs costs; /* at the pace at which the CPU was last found (cpu_speed.h) */
	struct edge *edges;
	uint32_t edges_log2, n_edges;
	struct shadow *bottom, *limit; /* of the stack's memory; limit: one behind */
	struct trace_granule *granule; /* where the next node goes */
	struct trace_granule *first;   /* its counters are the thread's */
	struct suspensions *suspended; /* the process's; this thread's own without a GIL */
	struct suspensions own;
	uint32_t n_off, off_seen; /* budget.c's own: activations on the stack that are off */
	uint32_t number;          /* in the process, from 1 */
	int32_t tid;
	uint64_t start;
	struct timeline *timeline;     /* timeline.h; NULL where none is kept */
	struct args_sketch **sketches; /* args.h: by number of the function */
	uint32_t n_sketches;
	struct greenlets *greenlets;     /* greenlets.h; NULL: no switch is told of */
	uint32_t epoch;                  /* of the link its nodes belong to */
	struct tracer **mine;            /* its thread's tree_mine */
	struct tracer *next, **previous; /* all of the process */
};

/* ---- the process ----------------------------------------------------------------------------- */

/* Before the first event, with the link open. */
bool tree_start(bool without_gil);
extern bool tree_has_timeline; /* the session wants calls in the order of time, too */
/* What events cost, as calibrated; in units of that time's pace, which is followed. */
void tree_set_cost(const struct trace_cost *cost);
/* Between these two, nodes go into memory of our own and are forgotten after: for calibration, while there is one thread
 * only. tree_start is to follow. */
bool tree_rehearse(void);
void tree_rehearsed(void);
bool tree_is_rehearsing(void);
/* The newest node of the rehearsal that was called at least so often; NULL: none. */
const struct trace_node *tree_rehearsal_find(uint64_t calls);

/* In a forked child: what was is the parent's. */
void tree_forget(void);
/* The hooks are out: what runs has its time up to now, and each thread's next event finds its stack anew. Its
 * nodes go on as long as the link is the same. */
void tree_pause(void);

extern enum clock_mode tree_clock;
extern uint64_t tree_ns_per_tick; /* × 2^32 */
extern _Thread_local struct tracer *tree_mine __attribute__((tls_model("initial-exec")));

/* The calling thread's tracer, made if need be, with an empty stack. NULL: not possible, and not tried again soon. */
struct tracer *tree_attach(void);

/* ---- slow paths ------------------------------------------------------------------------------ */

/* The node below `parent` of the function at this address, made if need be; never NULL. callable: as
 * codes_get wants it. */
struct trace_node *tree_child(
	struct tracer *t, struct trace_node *parent, const void *key, void *callable);
/* The frame the event belongs to is not on top: ends those above it. False: it is not on the stack. */
bool tree_resync(struct tracer *t, const void *key);
bool tree_grow(struct tracer *t);
void tree_suspended_put(struct tracer *t, const void *activation, uint64_t since, uint64_t ran);
bool tree_suspended_take(struct tracer *t, const void *activation, struct suspended *ret);
/* Now and then: whether anybody listens, and how fast the CPU is. now: 0 without a clock. */
void tree_check(struct tracer *t, uint64_t now);
/* Zeroed memory in the session's sparse area, in whole granules; NULL when there is no room. */
void *tree_area(uint32_t n_bytes);
/* What a node is called (wire/trace.h). */
uint32_t tree_ref(const struct trace_node *node);

/* ---- the hot path ---------------------------------------------------------------------------- */

static inline uint64_t tree_ns(uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * tree_ns_per_tick >> 32);
}

/* The time since the last event is the top's. Returns now. */
static inline uint64_t tree_charge(struct tracer *t)
{
	uint64_t now = clock_read(tree_clock);

	t->top->node->self += now - t->last;
	t->last = now;
	return now;
}

/* Of an event at which the top calls the node's function. */
static inline void tree_add_cost(
	struct tracer *t, struct trace_node *node, const struct tree_cost *cost)
{
	t->top->node->cost += cost->outside;
	node->cost += cost->inside;
}

static inline struct edge *tree_edge_at(
	const struct tracer *t, const struct trace_node *parent, const void *key)
{
	uint64_t h = ((uintptr_t)key ^ (uintptr_t)parent << 7) * 0x9e3779b97f4a7c15u;

	return &t->edges[h >> (64 - t->edges_log2)];
}

static inline struct trace_node *tree_find(
	struct tracer *t, struct trace_node *parent, const void *key, void *callable)
{
	const struct edge *e = tree_edge_at(t, parent, key);

	if (likely(e->key == key && e->parent == parent && e->function->key == key))
		return e->node;
	return tree_child(t, parent, key, callable);
}

static inline struct shadow *tree_push(
	struct tracer *t, struct trace_node *node, const void *key, uint64_t now)
{
	struct shadow *top = t->top + 1;

	if (unlikely(top == t->limit)) {
		if (!tree_grow(t))
			return NULL;
		top = t->top + 1;
	}
	top->node = node;
	top->key = key;
	top->entered = now;
	top->ran = 0;
	t->top = top;
	return top;
}

/* The top ends; `ran` is how long it ran in all. */
static inline void tree_count_duration(struct trace_node *node, uint64_t ran)
{
	uint64_t ns = tree_ns(ran) | TRACE_BUCKET_NS;
	uint32_t bucket = 63 - (uint32_t)__builtin_clzll(ns) - TRACE_BUCKET_LOG2;
	uint32_t *count = &node->histogram[bucket < TRACE_BUCKETS ? bucket : TRACE_BUCKETS - 1];

	if (~ran > node->not_min)
		node->not_min = ~ran;
	if (ran > node->max)
		node->max = ran;
	if (unlikely(++*count == 0))
		*count = UINT32_MAX;
}

static inline void tree_enter(struct tracer *t, const void *key, void *callable, bool with_clock)
{
	uint64_t now = with_clock ? tree_charge(t) : 0;
	struct trace_node *node = tree_find(t, t->top->node, key, callable);

	node->calls++;
	if (with_clock)
		tree_add_cost(t, node, callable ? &t->costs.builtin : &t->costs.call);
	tree_push(t, node, key, now);
	if (unlikely(with_clock ? now >= t->check_at : ++t->n_entered % QUIET_CHECK_EVENTS == 0))
		tree_check(t, now);
}

static inline void tree_leave(struct tracer *t, const void *key, bool with_clock)
{
	uint64_t now = with_clock ? tree_charge(t) : 0;

	if (unlikely(t->top->key != key) && !tree_resync(t, key))
		return;
	if (with_clock)
		tree_count_duration(t->top->node, now - t->top->entered + t->top->ran);
	t->top--;
}

static inline void tree_suspend(
	struct tracer *t, const void *key, const void *activation, bool with_clock)
{
	uint64_t now = with_clock ? tree_charge(t) : 0;

	if (unlikely(t->top->key != key) && !tree_resync(t, key))
		return;
	if (with_clock)
		tree_suspended_put(t, activation, now, now - t->top->entered + t->top->ran);
	t->top--;
}

static inline void tree_resume(
	struct tracer *t, const void *key, const void *activation, bool with_clock)
{
	uint64_t now = with_clock ? tree_charge(t) : 0;
	struct trace_node *node = tree_find(t, t->top->node, key, NULL);
	struct shadow *top;
	struct suspended before;

	node->resumes++;
	if (with_clock)
		tree_add_cost(t, node, &t->costs.resume);
	top = tree_push(t, node, key, now);
	if (with_clock && tree_suspended_take(t, activation, &before)) {
		node->awaited += now - before.since;
		if (top)
			top->ran = before.ran;
	}
}

#pragma GCC visibility pop

#endif
