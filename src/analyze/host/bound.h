/* SPDX-License-Identifier: MIT
 *
 * What a program is bound by: shares of its wall time that add up to 1, and a verdict.
 *
 *   P         mean number of threads running or runnable while any was, at least 1, at most the CPUs
 *             allowed (a thread that waits for the GIL sleeps, so it does not count)
 *   cpu       user time / (wall × P)
 *   system    system time / (wall × P)
 *   gil       the part of `cpu` in which other threads of the same Python process wanted the GIL (gil.h):
 *             seen by a sampler, else a guess
 *   runnable  time without a CPU / (wall × P): threads were ready to run, and other programs had the CPUs
 *             that this one was allowed. More threads than CPUs do not count: P has no room for them
 *   io        the rest of the time, as far as threads were seen in uninterruptible sleep (D)
 *   waiting   what remains: sleep, locks, network, other processes
 *   memory    stalls on memory the kernel reported (pressure), only with major faults; an estimate. What the
 *             CPU waits for memory is part of `cpu`: only its counters could tell
 *   gpu       not known to the host records
 *
 * The verdict is about the program, whatever else the host does: it is decided by shares of the time
 * that was not `runnable`. The largest is it if it is at least BOUND_SHARE and BOUND_LEAD times the
 * next one, else mixed. The kernel tells user from system time by looking at each tick of its clock which one
 * passes, so of a few ticks it cannot tell: where the verdict depends on that, it is BOUND_TOO_SHORT. So it is where more than
 * BOUND_STARVED was `runnable`: the rest is no more than the error of that. */
#ifndef ANALYZE_HOST_BOUND_H
#define ANALYZE_HOST_BOUND_H

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
	BOUND_RUNNABLE,  /* never a verdict */
	BOUND_MIXED,     /* verdicts only: they have no share */
	BOUND_TOO_SHORT, /* likewise */
	BOUND_MAX_
};

#define BOUND_SHARE   0.5
#define BOUND_LEAD    1.3
#define BOUND_STARVED 0.9

struct bound {
	bool is_known; /* else nothing else is: the recording ends before what the program used was seen */
	enum bound_kind verdict;
	double share[BOUND_MAX_];  /* of wall; UNITS_UNKNOWN where nothing can be said */
	double decided;            /* what the verdict was decided by: the largest share … */
	enum bound_kind largest;   /* … which is this one's, … */
	double next;               /* … and the one after it, … */
	enum bound_kind second;    /* … both of the time that was not runnable */
	double parallelism_wanted; /* P */
	double queue_s;   /* of which there was no CPU for threads that were ready to run */
	double n_ticks;   /* of the kernel's clock that told user from system */
	bool is_estimate; /* the verdict rests on an estimated share */
	bool has_states;  /* D and S were told apart; else `waiting` holds both and io is unknown */
	double faults_per_s; /* minor and major */
};

extern const char *const bound_names[BOUND_MAX_]; /* as in JSON: "cpu" … "too_short" */

struct bound bound_build(const struct usage *u);

#endif
