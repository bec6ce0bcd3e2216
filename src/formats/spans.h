/* SPDX-License-Identifier: MIT
 *
 * What each thread did, in the order of time: what formats with a time axis are made of. A sample stands for
 * the time that analyze/samples/weights.h gives it, so the spans of a thread touch one another and weigh what analyze/samples/stacks.h says; neighbours with the same functions are one span. Another tool's
 * weights follow one another where its file tells no times. What the selection leaves out leaves a gap. Calls that were traced with a timeline are replayed as
 * they were; without one only their sums are known, and they follow one another.
 *
 * The spans of all threads are put aside in an unnamed file in $TMPDIR (else /var/tmp, /tmp), sorted by
 * thread, because formats want one thread after the other, some of them several times; memory does not grow
 * with their number.
 *
 *	struct spans *s;
 *	if (spans_build(&s, &arena, selection, &e) < 0) …
 *	for (size_t i = 0; i < s->stacks->n_threads; i++) {
 *		struct span_iter it = spans_of(s, i);
 *		for (struct span x; span_next(&it, &x);)
 *			n = spans_frames(s, &x, frames);
 *	}
 *	status = spans_close(s, &e);       an error of reading the file back, too
 */
#ifndef FORMATS_SPANS_H
#define FORMATS_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/samples/stacks.h"

struct arena;
struct err;
struct selection;

struct span {
	uint64_t t_ns;    /* its begin, from the recording's begin on */
	uint64_t value;   /* ns, bytes, count: the stacks' unit */
	uint32_t place;   /* of its first sample, in the stacks */
	uint32_t samples; /* 0: exact, or not known */
};

struct spans_thread {
	uint64_t n;
	uint64_t value; /* of all its spans */
	/* begin of the first, end of the last; without time: sums of values */
	uint64_t t_ns, end_ns;
	uint32_t first_block; /* of the file, + 1 */
	uint32_t last_block;
};

struct spans {
	const struct stacks *stacks;     /* the selection's */
	struct spans_thread *threads;    /* as stacks->threads */
	uint64_t end_ns;                 /* the last of all */
	const struct timeline *timeline; /* of calls; spans_replay then tells it. NULL: none */
	uint64_t zero_ns;                /* CLOCK_MONOTONIC of times 0 */
	uint64_t from_ns, to_ns;         /* … and of the part of it that was chosen; 0: all */
	struct spans_file *file;
};

int spans_build(struct spans **ret, struct arena *a, struct selection *s, struct err *e);
/* The same for formats whose values must be time; else ERR_USAGE. */
int spans_build_time(struct spans **ret, struct arena *a, struct selection *s, struct err *e);
int spans_close(struct spans *s, struct err *e);

/* Whether it has anything to tell: threads of which nothing was chosen are not written. */
bool spans_has_thread(const struct spans *s, size_t thread);
/* Leaf first; returns their number. */
size_t spans_frames(
	const struct spans *s, const struct span *x, struct stack_frame to[STACKS_DEPTH]);

struct span_iter {
	const struct spans *spans;
	uint32_t block; /* + 1; 0: none left */
	uint32_t at, n; /* in entries */
	struct span *entries;
};

struct span_iter spans_of(const struct spans *s, size_t thread);
/* False at the end, and where the file could not be read (spans_close tells). Ends the iteration's memory. */
bool span_next(struct span_iter *it, struct span *ret);

/* Frames of a thread that begin and end, in the order of time. */
struct spans_replay {
	void *ctx;
	void (*open)(void *ctx, uint32_t function, uint64_t t_ns);
	void (*close)(void *ctx, uint32_t function, uint64_t t_ns);
};

/* What two neighbours have in common, from the root on, goes on; every open has its close. */
void spans_replay(const struct spans *s, size_t thread, const struct spans_replay *r);

#endif
