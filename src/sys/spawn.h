/* SPDX-License-Identifier: MIT
 *
 * Starting a program as if leadline were not there: the signal mask and dispositions it would have
 * had, no descriptors of ours, the same process group and terminal. */
#ifndef SYS_SPAWN_H
#define SYS_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct err;

enum { SIGNALS_CHANGED = 3 }; /* dispositions that are ours while a program runs */

struct signal_state { /* what we were started with */
	sigset_t mask;
	struct sigaction actions[SIGNALS_CHANGED];
	bool has_files;
	struct rlimit files; /* how many descriptors */
};

/* Blocks `signals` and SIGCHLD for reading through a signalfd, makes SIGCHLD waitable (an inherited
 * "ignore" would lose exit statuses), ignores SIGPIPE and SIGXFSZ (a full disk or a closed terminal
 * must not end us before the program), and keeps what was before. */
void signals_take(const sigset_t *signals, struct signal_state *ret_before);
void signals_restore(const struct signal_state *before);
/* As many descriptors as we may have: watching a thread takes two. Restored with the signals. */
void files_raise(struct signal_state *ret_before);

/* argv[0] is looked up on the PATH, as execvp does. ERR_NOT_FOUND and ERR_NOT_EXECUTABLE carry the
 * statuses 127 and 126 of env(1). */
int spawn_program(char *const argv[], const struct signal_state *signals, bool stdout_to_stderr,
	pid_t *ret_pid, struct err *e);

#endif
