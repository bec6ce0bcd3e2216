/* SPDX-License-Identifier: MIT
 *
 * Which processes of a tree run Python. Asking takes a millisecond or two, in which nothing is sampled, and
 * most processes of a tree may be something else: so one is asked often while it is young, rarer the longer it
 * is not Python, at once when its program changes, and all of them together within a share of the time.
 *
 *	if (py_search_is_due(s, process, now) && py_search_try(s, process, &target, now, &e) == 0)
 *		… (target is open; this process is not due again)
 *	py_search_forget(s, process->serial);      (it ended, or runs another program) */
#ifndef COLLECT_SAMPLES_SEARCH_H
#define COLLECT_SAMPLES_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct py_search;
struct py_target;
struct tree_process;

struct py_search *py_search_new(void);
void py_search_free(struct py_search *s); /* accepts NULL */

bool py_search_is_due(struct py_search *s, const struct tree_process *t, uint64_t now_ns);
/* 0, or as py_target_open; the next try is planned. Never waits. */
int py_search_try(struct py_search *s, const struct tree_process *t, struct py_target *target,
	uint64_t now_ns, struct err *e);
void py_search_forget(struct py_search *s, uint64_t serial);
/* It is Python, as the caller knows without a try. */
void py_search_found(struct py_search *s, const struct tree_process *t, uint64_t now_ns);

/* Found, but of no use to the caller: this is why, and it is not asked again. */
void py_search_refuse(struct py_search *s, const struct tree_process *t, const char *why);
/* Why the first process of the tree is not Python; "" when it is, or was not asked. */
const char *py_search_reason(const struct py_search *s);

#endif
