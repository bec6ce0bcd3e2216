/* SPDX-License-Identifier: MIT
 *
 * One process, started and timed: from just before it begins to just after its end is known, with what the kernel says
 * it used. Nothing runs beside it but the reading of a pipe, where one was asked for. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;

enum { CHILD_OUTPUT = 64 << 20 };

enum child_stream { CHILD_INHERIT, CHILD_NULL, CHILD_TO_STDERR };

struct child_options {
	const char *const *argv; /* ended by NULL; looked up on the PATH */
	/* "NAME=value" to add or replace, ended by NULL; may be NULL */
	const char *const *environment;
	const char *folder; /* to start in; NULL: ours */
	enum child_stream in, out;
	const char *in_path; /* file for stdin; NULL: as `in` says */
	/* gets all it prints, up to CHILD_OUTPUT bytes; NULL: as `out` says */
	struct buf *stdout_to;
	bool keep_stderr; /* the end of it goes to `ret_stderr` instead of the terminal */
	int cpu;          /* to run on; -1: any */
};

struct child_result {
	double wall_s, user_s, system_s;
	uint64_t max_rss_bytes;
	uint32_t n_preempted, n_minor_faults, n_major_faults;
	int status; /* as env(1) would exit: 128 + n for signal n */
};

/* Runs it to its end. ret_stderr gets at most 4 KiB, the last, where kept; may be NULL. */
int child_run(const struct child_options *o, struct child_result *ret, struct buf *ret_stderr,
	struct err *e);

/* A worker gets what is in `job` through a pipe and answers through another, lines that reach `line` one by one while it
 * runs (ended by NUL, without the newline). The numbers of the two descriptors are added to argv as its last words. */
int child_talk(const struct child_options *o, const struct buf *job,
	void (*line)(void *ctx, const char *text, size_t n), void *ctx, struct child_result *ret,
	struct err *e);

/* Whether Ctrl-C was pressed since child_watch_interrupt; children get it too. */
void child_watch_interrupt(void);
bool child_was_interrupted(void);

#endif
