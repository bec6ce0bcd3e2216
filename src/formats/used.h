/* SPDX-License-Identifier: MIT
 * The functions that stacks mention, numbered for a table of functions in a file; and what a file says of
 * its recording. */
#ifndef FORMATS_USED_H
#define FORMATS_USED_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct selection;
struct spans;
struct stacks;

struct used {
	size_t n;
	const uint32_t *functions; /* [0..n): numbers of frames.h, in order of appearance */
	const uint32_t *index;     /* by such a number: its place in functions */
};

struct used used_build(struct arena *a, const struct stacks *s);
/* Those that a replay tells, too. */
struct used used_build_spans(struct arena *a, const struct spans *s);

/* The program's command line, "" where it is not known. */
const char *used_command(const struct selection *s);
/* "MainThread", "thread 123". */
const char *used_thread_name(struct arena *a, const struct stacks *s, size_t thread);
/* The thread a viewer should show first: the one that was busiest. */
size_t used_first_thread(const struct stacks *s);

#endif
