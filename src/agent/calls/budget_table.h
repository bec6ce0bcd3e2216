/* SPDX-License-Identifier: MIT
 *
 * What a budget (budget.h) knows of functions, by address, and of call sites that are off. Entries are made on first use and
 * never freed; when a code object dies, what is known of its address is forgotten (budget_table_died), so that whatever comes to
 * lie there begins anew. Several threads may write at once; a count lost is of no consequence here, the nodes of the tree are
 * what is reported. */
#ifndef AGENT_CALLS_BUDGET_TABLE_H
#define AGENT_CALLS_BUDGET_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/budget_area.h"

struct function;

#pragma GCC visibility push(hidden)

struct budgeted {
	const void *key;
	struct budget_entry
		*entry;         /* of one that is off, in the session's memory; NULL: it is on */
	uint64_t n_seen;        /* events while it was on */
	uint32_t tick, in_tick; /* those of this tick */
	uint32_t generation;    /* so many code objects have lain at this address and died */
	bool is_passed;         /* call sites of it are off: they are of no use */
	bool is_counted;        /* it is off, and counted; once it is blind it stays so */
	bool is_clock;          /* it is blind, but tells when it begins until the next window */
	bool is_builtin;        /* of one that is off: a C function */
	bool is_shared; /* … that is called where something else was switched off: never counted in full */
	uint64_t window_calls, window_resumes, window_self; /* of the window that is open */
	uint64_t counted_before; /* its events that were counted when the last window ended */
};

/* NULL: not known. */
struct budgeted *budget_table_find(const void *key);
/* NULL: no memory. */
struct budgeted *budget_table_get(const void *key);
/* Switches a function off; it goes on to be counted. rate: calls per ns of CPU time until then. False: no room, it stays on. */
bool budget_table_off(struct budgeted *b, const struct function *f, uint64_t cpu_ns, double rate);
/* Of one that is off: it tells when it begins. */
static inline bool budget_table_tells(const struct budgeted *b)
{
	return b->is_counted || b->is_clock;
}
uint32_t budget_table_n_off(void);
/* Another one whenever what is off changes. */
uint32_t budget_table_version(void);

/* A call site at which this was called is to be switched off. False: there is no room to remember it, it must stay on. */
bool budget_table_site_off(const void *code, uint32_t offset, const void *key, uint64_t cpu_ns);
/* A window, open since then, sees a C function called at a site: where that was off because of something else, calls of this one were
 * missed. */
void budget_table_site_seen(
	const void *code, uint32_t offset, const void *key, void *callable, uint64_t cpu_ns);

/* A window has ended: adds it to the entries of all functions that are off. */
struct budget_window {
	uint64_t began, ended;       /* CPU time of the process, ns */
	uint64_t cost, outside_cost; /* in it, and since the one before */
	uint64_t others_self;        /* own time in it of all that is on, in the session's clock */
};
void budget_table_sum(const struct budget_window *w);
/* What counting it costs, in events of a Python function: a C function tells also when it ends. */
static inline unsigned budget_table_weight(const struct budgeted *b)
{
	return b->is_builtin ? 3 : 1;
}
/* A window opens: from now on everything is seen. */
void budget_table_open(uint64_t cpu_ns);
/* … and has ended, before it is summed up. Where nothing that is counted had `least` calls in it, the function that had so many,
 * and fewest of all, becomes the clock, unless that is more than `most`. */
void budget_table_close(uint64_t cpu_ns, uint64_t least, double most);
/* Too much is counted: what was called most since the last window, so long ago, is blind from now on, and there is no clock. Returns
 * how much that was, weighted; 0: nothing is counted. */
uint64_t budget_table_uncount(uint64_t cpu_ns, uint64_t span_ns);
/* The process runs still: what is off is so until now at least. */
void budget_table_alive(uint64_t cpu_ns);
/* The code object at this address dies. w: the part of a window in which it lived, NULL: none is open. */
void budget_table_died(const void *key, uint64_t cpu_ns, const struct budget_window *w);
/* Everything is on. */
void budget_table_forget(void);

#pragma GCC visibility pop

#endif
