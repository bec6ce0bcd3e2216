/* SPDX-License-Identifier: MIT
 *
 * What the kernel says of one thread, through descriptors kept open: whether it runs, what it waits in,
 * and, at the price of one small read, that it has not run since it was last looked at. With that a
 * thread that sleeps need not be looked at again: its stack cannot have changed. */
#ifndef COLLECT_SAMPLES_STATE_H
#define COLLECT_SAMPLES_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct map;

struct py_state {
	pid_t pid;
	uint32_t tid;
	int syscall_fd, sched_fd, stat_fd; /* -1: not to be had */
	struct map *sched_files;           /* collector.h; NULL: nobody shares them */
	bool is_short;                     /* of descriptors: the files are opened for each look */
	bool is_gone;                      /* the thread has ended, as a look found */
	bool is_running;                   /* on a CPU, or ready for one */
	uint64_t futex;                    /* the address, while it waits in futex(2); else 0 */
	uint64_t looked_ns;
	char turns[80]; /* schedstat as noted: CPU time, waiting time, turns on a CPU */
};

/* is_gone when there is no such thread any more. */
void py_state_open(struct py_state *s, pid_t pid, uint32_t tid, struct map *sched_files);
void py_state_close(struct py_state *s);

/* Whether the process was stopped by a signal. */
bool py_state_is_stopped(pid_t pid);

/* Asks anew, unless that was less than `at_least_ns` ago. */
void py_state_look(struct py_state *s, uint64_t now_ns, uint64_t at_least_ns);
/* Instead of asking: it was just seen to run, for its stack moved. */
void py_state_runs(struct py_state *s, uint64_t now_ns);

/* Notes how often the thread has had a CPU so far. */
void py_state_note(struct py_state *s);
/* Whether it has had none since. false where the kernel does not tell. */
bool py_state_has_slept(struct py_state *s);
/* CPU time it has had, as of the kernel's last tick while it runs. false where the kernel does not tell. */
bool py_state_cpu_ns(struct py_state *s, uint64_t *ret);

#endif
