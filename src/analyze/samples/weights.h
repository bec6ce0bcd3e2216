/* SPDX-License-Identifier: MIT
 *
 * Weights: how much time each sample stands for. What weighs samples asks here, so that tables, timelines and exports agree.
 *
 *	struct weights *w = weights_load(tables);
 *	for (each sample s) {
 *		struct weight_gap g = weights_gap(w, s);      what lies between it and the one before of its thread
 *		…
 *	}
 *	for (each row of the thread table)
 *		if (weights_end(w, row, true, &g)) …                what lies behind the thread's last one
 *	weights_free(w);
 *
 * A sample has half of the time since the one before of the same thread and half of the time to the next: at high rates what a
 * look costs depends on what it sees, so counts alone would favour cheap places. Time in which the thread was not there is
 * nobody's (thread_mark): of the time between the last look without it and the first with it, the sample has half, for on average
 * it began there; likewise when it went. So a thread that was seen but once weighs as much as one look stands for: many short ones
 * together weigh what they took. Where the sampler came late (late), nobody knows what a thread did that ran: that part is
 * FRAMES_LATE's, or FRAMES_STOPPED's when the whole job was stopped. A thread that slept in one place before and after slept, but for
 * stops of the whole job.
 *
 * The parts of a thread touch one another: they add up to the time from its first to its last evidence, to the nanosecond.
 * Recordings without such marks have their first and last samples weigh half, as they always did. */
#ifndef ANALYZE_SAMPLES_WEIGHTS_H
#define ANALYZE_SAMPLES_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rec_sample;
struct tables;
struct weights;

/* Times are CLOCK_MONOTONIC and in this order; an empty part has two that are equal. */
struct weight_gap {
	bool has_last; /* there was a sample before; else the first three are those of the fourth */
	uint64_t last_ns;      /* its time; it has what is from here … */
	uint64_t last_end_ns;  /* … to here. Then nobody looked … */
	uint64_t gone_ns;      /* … to here. Then the thread was not there … */
	uint64_t came_ns;      /* … to here. Then nobody looked … */
	uint64_t begin_ns;     /* … to here, where what the sample itself has begins */
	uint32_t unseen_stack; /* FRAMES_LATE or FRAMES_STOPPED: what that is shown as */
};

struct weights *weights_load(struct tables *t); /* of a whole recording; borrows it */
struct weights *weights_new(struct tables *t);  /* of one that grows: nothing yet */
void weights_free(struct weights *w);           /* NULL is fine */
/* Takes in what the reader's chunks from this one on say of threads and looks, of the time of samples that are asked for next. */
void weights_take(struct weights *w, size_t first_chunk);
/* Samples of one thread are asked for in the order of time. */
struct weight_gap weights_gap(struct weights *w, const struct rec_sample *s);
/* What is behind the thread's last sample, begin_ns being where it ends; false: it had none, or this was told. With is_over false
 * only for threads that are known to be gone. */
bool weights_end(struct weights *w, uint32_t thread_row, bool is_over, struct weight_gap *ret);
/* Of its time, how much it was on a CPU: the rest it was ready to run, without one; of weights_unseen's, nobody knows the rest. 0 for
 * one that was not running. */
double weights_on_cpu(const struct weights *w, const struct rec_sample *s);
/* A part of a gap that nobody saw, as if it had been a sample: half of it before, half of it behind. */
struct rec_sample weights_unseen(
	uint32_t thread_row, uint32_t stack, uint64_t from_ns, uint64_t to_ns);

#endif
