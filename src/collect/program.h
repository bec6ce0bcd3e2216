/* SPDX-License-Identifier: MIT
 *
 * A program with collectors beside it. Two ways into the same loop (look, take signals, wait, stop):
 *
 *	program_run     starts a program, which notices nothing: its stdin, stdout, process group,
 *	                signal mask and exit status are its own
 *	program_follow  watches a process that runs already, and leaves it running
 *
 * Signals while it lasts:
 *	SIGINT          (Ctrl-C) ends the recording. A program we started gets it too, from the terminal or,
 *	                when it was sent to us alone, from us, and is waited for.
 *	SIGUSR1         writes all that was recorded so far to the file, and goes on. A program we started
 *	                gets it only when it has a handler: else it would die of it.
 *	SIGTERM, SIGHUP, SIGQUIT, SIGUSR2, SIGALRM, SIGWINCH
 *	                are passed on to a program we started; SIGTERM and SIGHUP write what was recorded
 *	                first. When following, the first three end the recording, the others do nothing.
 *	SIGTSTP …       stop us together with the program, as the shell means it.
 *
 * A recording that cannot be written any more (disk full) ends; the program goes on. */
#ifndef COLLECT_PROGRAM_H
#define COLLECT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/agent_options.h"

struct collector;
struct err;
struct writer;

/* Lets a caller live inside the loop: a screen that is drawn anew, keys that are read. Called when `fd`
 * is readable (-1: none) and when interval_ns have passed since the last call (0: only for fd), from the
 * thread that owns the writer. False ends the loop: the program goes on, waited for or not. */
struct program_hook {
	bool (*call)(void *ctx, uint64_t now_ns);
	/* may be NULL; true: it was for the caller alone */
	bool (*on_signal)(void *ctx, int signal);
	void *ctx;
	int fd;
	uint64_t interval_ns;
};

struct program_options {
	char *const *argv; /* program_run: what to start */
	pid_t pid;         /* program_follow: whom to follow */
	const struct collector *const *collectors;
	size_t n_collectors;
	double rate_hz; /* of samplers; 0: as often as possible */
	struct agent_options agent_options;
	bool is_standby;     /* programs that no agent gets into are sampled, others are not */
	const char *lines;   /* whose lines they count: collector.h */
	const char *exclude; /* what they do not trace: collector.h */
	const char
		*torch_full;  /* what torch's profiler shall do in it: bootstrap.h; NULL: nothing */
	bool wants_package;   /* the program may import leadline, installed or not */
	uint64_t duration_ns; /* how long to record; 0: to the end */
	const struct program_hook *hook; /* may be NULL */
	bool no_connector;               /* find children by polling only */
	bool no_source;                  /* leave out the text of source files */
	bool is_single;                  /* program_follow: without its children */
	bool interrupt_is_its_own;       /* program_run: recorded on after SIGINT */
	bool stdout_to_stderr; /* the program's standard output goes where its errors go */
};

enum program_end { /* what ended the recording */
	PROGRAM_ENDED,
	PROGRAM_INTERRUPTED, /* a signal */
	PROGRAM_DURATION,    /* has passed */
	PROGRAM_HOOK,        /* said so */
	PROGRAM_WRITER,      /* could not write any more; writer_close says why */
};

struct program_result {
	pid_t pid;
	enum program_end end;
	bool has_ended; /* the program; always after program_run, unless the hook ended it */
	int status;     /* as wait(2) once it has ended; -1 not known */
	uint64_t wall_ns;
	uint64_t recorded_ns; /* shorter than wall_ns when the program outlived the recording */
	uint64_t own_cpu_ns;  /* leadline's */
	uint64_t n_looks;     /* calls of drain */
};

/* Return when it is over; children that outlive the program go on undisturbed. What a recording
 * should say of the run (command, machine, CPUs, how children were found) is written as meta.
 * program_follow: ERR_NO_PROCESS when there is no such process, whatever may be read of it is left to
 * the collectors. */
int program_run(const struct program_options *o, struct writer *w, struct program_result *ret,
	struct err *e);
int program_follow(const struct program_options *o, struct writer *w, struct program_result *ret,
	struct err *e);

/* The exit status to pass on: the program's, or 128 + the signal that killed it. */
int program_exit_status(int wait_status);

#endif
