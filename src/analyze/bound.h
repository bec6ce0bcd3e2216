/* SPDX-License-Identifier: MIT
 *
 * What a program is bound by: shares of its wall time that add up to 1, and a verdict.
 *
 *   P        mean number of threads running or runnable while any was, at least 1, at most the CPUs
 *            allowed (a thread that waits for the GIL sleeps, so it does not count)
 *   cpu      user time / (wall × P), and the time a computing thread was ready but had no CPU
 *   system   system time / (wall × P)
 *   gil      the part of `cpu` in which two or more threads of one Python process took turns on one
 *            core while more were allowed; an estimate until a sampler sees the GIL itself
 *   io       the rest of the time, as far as threads were seen in uninterruptible sleep (D)
 *   waiting  what remains: sleep, locks, network, other processes
 *   memory   stalls on memory the kernel reported (pressure), only with major faults; an estimate
 *   gpu      not known to the host records
 *
 * The verdict is the largest share if it is at least BOUND_SHARE of the time and BOUND_LEAD times
 * the next one, else mixed. */
#ifndef ANALYZE_BOUND_H
#define ANALYZE_BOUND_H

#include <stdbool.h>

struct usage;

enum bound_kind {
	BOUND_CPU,
	BOUND_MEMORY,
	BOUND_SYSTEM,
	BOUND_IO,
	BOUND_WAITING,
	BOUND_GIL,
	BOUND_GPU,
	BOUND_MIXED, /* verdict only: has no share */
	BOUND_MAX_
};

#define BOUND_SHARE 0.5
#define BOUND_LEAD  1.3

struct bound {
	bool is_known; /* else nothing else is: the recording ends before what the program used was seen */
	enum bound_kind verdict;
	double share[BOUND_MAX_];  /* of wall; UNITS_UNKNOWN where nothing can be said */
	double parallelism_wanted; /* P */
	double queue_s;            /* ready and waiting for a CPU, of all threads that were seen */
	bool is_estimate;          /* the verdict rests on an estimated share */
	bool has_states; /* D and S were told apart; else `waiting` holds both and io is unknown */
	double faults_per_s; /* minor and major */
};

extern const char *const bound_names[BOUND_MAX_]; /* as in JSON: "cpu" … "mixed" */

struct bound bound_build(const struct usage *u);

#endif
