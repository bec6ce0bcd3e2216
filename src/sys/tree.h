/* SPDX-License-Identifier: MIT
 *
 * The processes that descend from a program: one we started, orphans included, or one that runs
 * already (then nobody is waited for, and nothing about it changes).
 *
 *   subreaper      orphans become our children, so we can wait for them (a program we started)
 *   proc connector the kernel tells of every fork, exec and exit at once (root; everybody from Linux 6.6
 *                  on): nothing is missed
 *   children files /proc/PID/task/TID/children otherwise, in each tree_poll as long as that takes
 *                  2 % of a CPU at most: children that live shorter than the time between two
 *                  looks can be missed (of a running program with their own children)
 *
 * Waiting is tree_reap: it reads what /proc still says of a zombie before it is gone. */
#ifndef SYS_TREE_H
#define SYS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sys/proc.h"

struct err;
struct tree;

struct tree_process {
	pid_t pid, parent;
	uint64_t start_ns;   /* after boot; for one never seen, the time of its fork event */
	uint64_t seen_ns;    /* CLOCK_MONOTONIC, when we learned of it */
	uint64_t image_ns;   /* the same, when its present program began: forked, or exec */
	bool is_image_exact; /* the kernel told so; else when we saw it */
	bool has_execed;     /* since it was forked, as far as is known */
	uint64_t n_forked;   /* threads it has made since we learned of it, as the kernel told */
	bool is_alive;
	bool was_running; /* before we came: its counters do not start at 0 */
	uint64_t serial;  /* 0, 1, 2 … in order of discovery: never reused, unlike pids */
};

enum tree_event_kind {
	TREE_FORK,   /* `process` is new */
	TREE_EXEC,   /* it runs another program now */
	TREE_EXIT,   /* it ended; somebody else waits for it */
	TREE_REAPED, /* it was our child (or became it) and tree_reap waited for it; after TREE_EXIT
		      * where its parent ended without waiting */
};

struct tree_end {            /* with TREE_REAPED */
	int status;          /* as wait(2) */
	struct rusage usage; /* with waited-for children */
	bool has_stat;
	struct proc_stat stat; /* its own */
	uint64_t cpu_ns;       /* its own, user and system, to the nanosecond; PROC_UNKNOWN */
	/* with waited-for children; PROC_UNKNOWN where the kernel does not count */
	struct proc_io io;
};

struct tree_event {
	enum tree_event_kind kind;
	uint64_t t_ns; /* CLOCK_MONOTONIC */
	const struct tree_process *process;
	const struct tree_end *end; /* TREE_REAPED only */
	int status;                 /* TREE_EXIT: as wait(2) where the connector told, else -1 */
};

typedef void tree_listener(void *ctx, const struct tree_event *event);

struct tree_options {
	bool no_connector; /* children files only */
	bool is_running;   /* the program runs already: it is no child of ours */
	bool is_single;    /* that process alone, without its children */
	tree_listener *listener;
	void *ctx;
};

/* Becomes subreaper unless is_running, and subscribes. */
int tree_open(struct tree **ret, const struct tree_options *o, struct err *e);
void tree_close(struct tree *t); /* accepts NULL */

/* The program: just started, or running, then with all descendants it has now. */
void tree_add_root(struct tree *t, pid_t pid, uint64_t now_ns);
/* Readable when there is news; -1 without the connector (poll now and then). */
int tree_fd(const struct tree *t);
/* Takes in all news; events reach the listener. */
void tree_poll(struct tree *t, uint64_t now_ns);
/* Waits, without blocking, for children of ours that ended; each gives TREE_REAPED. */
void tree_reap(struct tree *t, uint64_t now_ns);
bool tree_has_root(const struct tree *t); /* not waited for yet, nor ended by tree_end_root */
/* Somebody found that the process runs another program now, of which the kernel told nothing: TREE_EXEC. */
void tree_exec(struct tree *t, pid_t pid, uint64_t now_ns);
/* A pidfd told that the running program ended: TREE_EXIT, with the status if the connector told. */
void tree_end_root(struct tree *t, uint64_t now_ns);

/* Known processes, in order of discovery, some dead ones too; valid until the next call that polls. */
const struct tree_process *tree_processes(const struct tree *t, size_t *ret_n);

/* The one that is alive with this pid, NULL: none; valid as the above. */
const struct tree_process *tree_find(const struct tree *t, pid_t pid);

/* How children are found, for people: "proc connector" or "children files". */
const char *tree_method(const struct tree *t);
/* Whether the kernel tells of forks, exits and threads by itself. */
bool tree_hears(const struct tree *t);
/* CPU time of a process by the kernel's clock, ended threads included, until it was waited for; PROC_UNKNOWN then. */
uint64_t tree_cpu_ns(pid_t pid);
/* Whether children do not belong to it. */
bool tree_is_single(const struct tree *t);
/* Whether no process can have been missed so far. */
bool tree_is_complete(const struct tree *t);

#endif
