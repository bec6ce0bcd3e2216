/* SPDX-License-Identifier: MIT
 *
 * What a budget (budget.h) knows of functions, by address, and of call sites that are off. Entries are made on first use and
 * never freed; addresses of code objects that died may come to mean another function, which then begins with
 * its predecessor's count: no more than a guess is made of it. Several threads may write at once; a count lost is of
 * no consequence here, the nodes of the tree are what is reported. */
#ifndef AGENT_BUDGET_TABLE_H
#define AGENT_BUDGET_TABLE_H

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
	bool is_passed;         /* call sites of it are off: they are of no use */
	bool is_clock;          /* it is off, but tells when it begins (budget.c) */
	bool is_builtin;        /* of one that is off: a C function */
	uint64_t window_calls, window_resumes, window_self; /* of the window that is open */
};

/* NULL: not known. */
struct budgeted *budget_table_find(const void *key);
/* NULL: no room. */
struct budgeted *budget_table_get(const void *key);
/* Switches a function off; rate: calls per ns of CPU time until then. False: no room, it stays on. */
bool budget_table_off(struct budgeted *b, const struct function *f, uint64_t cpu_ns, double rate);
uint32_t budget_table_n_off(void);

/* A call site was switched off; a window sees a C function that is on called at a site. */
void budget_table_site_off(const void *code, uint32_t offset, uint64_t now);
void budget_table_site_seen(const void *code, uint32_t offset, const void *key, void *callable);

/* A window has ended: adds it to the entries of all functions that are off. */
struct budget_window {
	uint64_t began, ended;       /* CPU time of the process, ns */
	uint64_t cost, outside_cost; /* in it, and since the one before */
};
void budget_table_sum(const struct budget_window *w);
/* What an event of a clock costs, in those of a Python function: a C function tells also when it ends. */
static inline unsigned budget_table_weight(const struct budgeted *b)
{
	return b->is_builtin ? 3 : 1;
}
/* Before it is summed up: of what is off, those that cost least as clocks, by their calls in the window, `least` or more, become
 * clocks: one with up to lone_most calls, and more as long as they had no more than `most` in all. The others are none. */
void budget_table_choose_clocks(uint64_t least, double most, double lone_most);
/* What is off is so still. */
void budget_table_last(uint64_t cpu_ns);
void budget_table_forget(void);

#pragma GCC visibility pop

#endif
