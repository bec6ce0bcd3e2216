/* SPDX-License-Identifier: MIT
 *
 * How much of a process's CPU time was used while other threads of it wanted the GIL.
 *
 * Where it was sampled, the samples tell: a thread that wants the GIL sleeps on its futex, and wants it until it is seen with
 * it, or asleep elsewhere. One that is ready to run and has no GIL runs other code than Python, or wants the GIL back and
 * has no CPU to go to sleep on: as often as it was seen to want it, beside how long it can have run.
 *
 * Elsewhere it is a guess from the CPU time of its threads, in windows of some turns each. A window may be one of turns when
 *
 *   - the threads together used one core at most, and one core or more with what they waited for a CPU;
 *   - that was the work of several: (Σ cpu)² / Σ cpu² is their number where they share alike, and 1 where one does all.
 *
 * The process's windows of turns count when its threads also slept in most of them, and on a futex. Threads that only share a
 * busy CPU never sleep; how much others sleep in one window depends on the load of the host, so that is asked of all together. */
#ifndef ANALYZE_HOST_GIL_H
#define ANALYZE_HOST_GIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct tables;

struct gil_window {       /* one process, for a while */
	uint32_t process; /* row */
	double length_s;
	/* cores, of threads that ran: used, the sum of squares, waited for */
	double cpu, squares, queue;
	unsigned sleeps, futex_sleeps;
};

struct gil_cpu {                         /* of the threads of one process */
	double all_s, first_s, second_s; /* CPU time; of the two that used most */
	double queue_s;                  /* waited for a CPU */
};

struct gil_options {
	const struct gil_window *windows;
	size_t n_windows;
	const struct gil_cpu *cpu; /* by row of the process − 1 */
	size_t n_processes;
	double cpus_allowed;
};

struct gil_process {
	double cpu_s;
	bool is_seen; /* by a sampler; else a guess */
};

/* By row of the process − 1; in the arena. */
struct gil_process *gil_build(struct arena *a, struct tables *t, const struct gil_options *o);

#endif
