/* SPDX-License-Identifier: MIT
 *
 * The threads of a process that sleep, asked all at once. That one thread has not run since costs a small
 * read (state.h); for hundreds that wait this is one question: has the CPU time of the process grown by
 * more than that of its threads that are awake? The kernel's sums are exact for whoever is off the CPU, and
 * for a thread that is on it they are the same in both.
 *
 * What is not seen so is a thread that woke and is still on a CPU before the kernel's next tick. If it
 * runs Python code it holds the GIL, and the caller asks who does. If it runs other code, its first
 * milliseconds count as sleep; so the question is trusted only after nobody woke for a while, and threads
 * are still asked one by one five times a second. */
#ifndef COLLECT_SAMPLES_SLEEPERS_H
#define COLLECT_SAMPLES_SLEEPERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct sampled;

struct py_sleepers {
	clockid_t clock; /* of the process */
	bool has_clock;
	VEC(struct sampled *) awake; /* borrowed; the others slept when last asked */
	bool is_known;               /* rest_ns is of a time since when none of the others ran */
	uint64_t rest_ns;            /* CPU time of all but those awake */
	bool is_measured;
	uint64_t measured_ns; /* the same, before they were asked one by one */
	uint64_t moved_ns;    /* when one of them was last seen to have run */
	uint64_t asked_ns;    /* when they were last asked one by one */
	uint64_t sorted_ns;   /* when those awake were last told from the others */
	uint64_t still_ns;    /* when they were last found to sleep on, all at once */
};

void py_sleepers_init(struct py_sleepers *s, pid_t pid);
void py_sleepers_done(struct py_sleepers *s);
/* Threads came or went. */
void py_sleepers_forget(struct py_sleepers *s);

/* Whether all threads but those awake sleep on. If not, they are to be asked one by one, all of them, and then: */
bool py_sleepers_sleep_on(struct py_sleepers *s, uint64_t now_ns);
void py_sleepers_asked(
	struct py_sleepers *s, struct sampled *const *threads, size_t n, uint64_t now_ns);

#endif
