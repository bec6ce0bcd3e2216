/* SPDX-License-Identifier: MIT
 *
 * Strips: what each sampled thread did, in the order of time. A sample stands for the time that weights.h gives it;
 * neighbours of one stack and state are one span. Where a thread was not there is a span of STRIP_NONE.
 * Another tool's weights follow one another where its file tells no times. Exactly traced calls have no time line.
 *
 *	const struct thread_states *t = thread_states_build(&a, tables, frames);
 *	n = thread_states_runs(&t->threads[i], from_ns, to_ns, 1200, &runs);
 */
#ifndef ANALYZE_SAMPLES_THREAD_STATES_H
#define ANALYZE_SAMPLES_THREAD_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct frames;
struct tables;

enum strip_state {
	STRIP_NONE, /* not seen */
	STRIP_RUNNING,
	STRIP_GIL_WAIT,
	STRIP_GC,
	STRIP_WAITING,
	STRIP_LATE, /* it was there, and the sampler did not look */
	STRIP_STATES_
};

extern const char *const strip_states[STRIP_STATES_]; /* as in JSON */

struct state_span {    /* ends where the next begins */
	uint64_t t_ns; /* since the recording began */
	uint32_t stack, leaf_code, leaf_offset;
	uint32_t n_samples;
	uint8_t state;
};

struct state_thread {
	uint32_t row, tid, pid;
	const char *name;
	const struct state_span *v;
	size_t n;
	uint64_t end_ns; /* of the last */
};

struct thread_states {
	const struct state_thread *threads; /* in order of appearance, as stacks.h has them */
	size_t n_threads;
	uint64_t end_ns; /* the last of all */
	bool has_states; /* else all that was seen is "running": another tool's file */
	struct frames *frames;
	struct tables *tables;
};

/* Never NULL. */
const struct thread_states *thread_states_build(
	struct arena *a, struct tables *t, struct frames *f);

/* Seconds of a window in each state. */
void thread_states_sums(
	const struct state_thread *x, uint64_t from_ns, uint64_t to_ns, double to[STRIP_STATES_]);

struct state_run {
	uint64_t t_ns;
	uint8_t state;
	uint32_t function; /* innermost of its longest span; UINT32_MAX: none */
};

/* What a window shows when it is so many pixels wide: at most one run a pixel, and one with STRIP_NONE where the last
 * ends. *ret is the caller's to free; returns their number. */
size_t thread_states_runs(const struct thread_states *t, const struct state_thread *thread,
	uint64_t from_ns, uint64_t to_ns, size_t pixels, struct state_run **ret);

#endif
