/* SPDX-License-Identifier: MIT
 *
 * A command to be timed: with or without a shell, with what has to happen before each run. */
#ifndef BENCH_COMMANDLINE_H
#define BENCH_COMMANDLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/child.h"

struct buf;
struct cold;
struct err;

struct commandline {
	const char *name;        /* as shown */
	const char *const *argv; /* ended by NULL */
	const char *folder;      /* to run in; NULL: ours */
	const char *prepare;     /* for a shell, before each run; NULL: nothing */
	const char *conclude;    /* the same after it */
	const char *in_path;     /* for stdin; NULL: /dev/null */
	struct cold *cold;       /* drops its files from memory before each run; NULL: nobody */
	struct buf *stdout_to;   /* gets what it prints; NULL: nobody */
	bool show_output, ignore_failure;
	double subtract_s; /* start of the shell */
	int cpu;           /* to run on; -1: any */
};

/* One run. The end of its stderr is in ret_stderr, cleared before; ERR_MEASURED when preparing fails. */
int commandline_run(const struct commandline *c, uint64_t seed, struct child_result *ret,
	struct buf *ret_stderr, struct err *e);

/* A text in a shell, untimed; ERR_MEASURED when it fails. what: "--prepare" … */
int commandline_shell(const char *shell, const char *text, const char *what, struct err *e);

/* What an empty command takes in this shell: the mean of some runs. */
int commandline_shell_time(const char *shell, double *ret_s, struct err *e);

#endif
