/* SPDX-License-Identifier: MIT
 *
 * sys.monitoring for hooks written in C (3.12 on): a tool id of our own, callbacks, events. A
 * callback is an object that the interpreter calls through its vectorcall slot, which is the cheapest
 * way there is; it must return a new reference to None or, to switch a place off, to m->disable, and
 * must not raise.
 *
 * All functions need the GIL and leave no Python error behind. */
#ifndef AGENT_CALLS_MONITOR_H
#define AGENT_CALLS_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/core/compat.h"

typedef PyObject *monitor_fn(
	PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

struct monitor {
	PyObject *module;  /* sys.monitoring, owned; NULL before monitor_take */
	PyObject *disable; /* owned */
	int tool;          /* -1: none */
};

#define MONITOR_INIT       \
	{                  \
		.tool = -1 \
	}

#pragma GCC visibility push(hidden)

/* Takes a free tool id. On failure ret_why says who has them, for the user. */
bool monitor_take(struct monitor *m, char *ret_why, size_t n_why);
/* Takes events and callbacks away and gives the id back. */
void monitor_release(struct monitor *m);

/* The bit of an event, such as "LINE"; 0: there is none of that name. */
long monitor_event(const struct monitor *m, const char *name);
/* NULL takes the callback away. */
bool monitor_set_callback(const struct monitor *m, long event, monitor_fn *fn);
/* Calls of all code: a callback that is not called for what is excluded (exclude.h), whose places are switched off. Adds the event's
 * bit. */
bool monitor_watch(const struct monitor *m, const char *event, monitor_fn *fn, long *events);
/* Events of all code. Each change makes the interpreter visit all code again: set them at once. */
bool monitor_set_events(const struct monitor *m, long events);
/* Further events of one code object. */
bool monitor_set_local_events(const struct monitor *m, PyCodeObject *code, long events);
/* Places that were switched off are on again. */
void monitor_restart(const struct monitor *m);

#pragma GCC visibility pop

#endif
