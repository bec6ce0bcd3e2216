/* SPDX-License-Identifier: MIT
 *
 * Books: of each sampled process, what became of its CPU time by the kernel's clock and of the time its threads were there. They
 * are of the whole recording, whatever is chosen of it, and every residual keeps its sign: what does not balance is told.
 *
 *	CPU	kernel = sampled on a CPU + while the sampler was late + threads without Python + not seen
 *	wall	threads = sampled + [no Python code] + [interpreter starting] + [interpreter ending] + [stopped] + [sampler late]
 *
 * Threads that nobody saw are a count, outside of these; where the kernel tells of forks (events) or the interpreter numbers its
 * thread states (ids) it is known, else only their CPU time is (clock). */
#ifndef ANALYZE_SAMPLES_BOOKS_H
#define ANALYZE_SAMPLES_BOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct frames;
struct tables;

/* How threads that nobody saw would be known of; the weakest last. */
enum books_evidence { BOOKS_EVENTS, BOOKS_IDS, BOOKS_CLOCK };
extern const char *const books_evidences[]; /* "events", "ids", "clock" */

/* Seconds; UNITS_UNKNOWN where not known. */
struct book {
	uint32_t pid; /* 0: of all */
	struct {
		double kernel_s, sampled_s, late_s, without_python_s, not_seen_s;
	} cpu;
	struct {
		double threads_s, sampled_s, no_python_s, starting_s, ending_s, stopped_s, late_s;
	} wall;
	double threads_not_seen, threads_beyond;
	enum books_evidence evidence;
};

/* Threads of one name that never ran Python. */
struct books_native {
	const char *name;
	size_t n;
	double cpu_s;
};

struct books {
	struct book sum;
	/* CPU time of the whole tree by wait4 that no process of the recording has: of processes that came and went unseen, less what
	 * nobody waited for. UNITS_UNKNOWN without wait4. */
	double unseen_processes_s;
	const struct book *v; /* by process, in order of appearance */
	size_t n;
	const struct books_native *native; /* most CPU time first */
	size_t n_native;
};

/* NULL: the recording holds none, so all of this is unknown. */
const struct books *books_build(struct arena *a, struct tables *t, struct frames *f);

/* Nothing to speak of is missing: 2 % of the CPU time and a clock tick, 1 % of the threads' time, no thread. */
bool books_balance(const struct book *b);
/* The parts of a book that are told: 0 … 1, or more where samples say more than the clock. */
double books_cpu_share(const struct book *b);
double books_wall_share(const struct book *b);

#endif
