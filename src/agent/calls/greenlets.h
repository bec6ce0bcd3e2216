/* SPDX-License-Identifier: MIT
 *
 * Greenlets: several stacks take turns in one thread. Where the program has greenlet, a trace function in C (greenlet.settrace) tells
 * of each switch, in every thread that calls something new after the import; a trace function of the program's own is called after
 * ours, as if ours were not there. Each greenlet has a shadow stack of its own then, that begins below the thread: while a
 * greenlet waits no time is its functions'. Without the hook (a program that sets its own trace function later) stacks are
 * found again as after any missing event, and counted (tree_resync). */
#ifndef AGENT_CALLS_GREENLETS_H
#define AGENT_CALLS_GREENLETS_H

#include <stdbool.h>

struct tracer;

#pragma GCC visibility push(hidden)

/* Tracing begins; greenlet may have been imported before. */
void greenlets_start(bool with_clock);
/* A Python function of this file is new. */
void greenlets_saw_file(const char *file, unsigned n);

/* The program has greenlet. */
extern bool greenlets_are_there;
/* Asks to be told of the switches of the calling thread, unless that was done or cannot be yet. */
void greenlets_watch(struct tracer *t);

/* Forgets the stacks that wait: the thread ends, or finds its stack anew. */
void greenlets_drop(struct tracer *t);

#pragma GCC visibility pop

#endif
