/* SPDX-License-Identifier: MIT
 *
 * Running a program with collectors beside it: start, look, forward signals, wait, stop. The
 * program notices nothing: its stdin, stdout, process group, signal mask and exit status are its
 * own. Keyboard signals reach it from the terminal; those sent to leadline are passed on to it. */
#ifndef COLLECT_PROGRAM_H
#define COLLECT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct collector;
struct err;
struct writer;

struct program_options {
	char *const *argv;
	const struct collector *const *collectors;
	size_t n_collectors;
	double rate_hz;        /* of samplers; 0: as often as possible */
	bool no_connector;     /* find children by polling only */
	bool stdout_to_stderr; /* the program's standard output goes where its errors go */
};

struct program_result {
	pid_t pid;
	int status; /* as wait(2) */
	uint64_t wall_ns;
	uint64_t own_cpu_ns; /* leadline's */
	uint64_t n_looks;    /* calls of drain */
};

/* Returns when the program ended; children that outlive it go on undisturbed. What a recording
 * should say of the run (command, machine, CPUs, how children were found) is written as meta. */
int program_run(const struct program_options *o, struct writer *w, struct program_result *ret,
	struct err *e);

/* The exit status to pass on: the program's, or 128 + the signal that killed it. */
int program_exit_status(int wait_status);

#endif
