/* SPDX-License-Identifier: MIT
 * What a file calls the program and its threads, and which of them a viewer shows first. */
#ifndef FORMATS_LABELS_H
#define FORMATS_LABELS_H

#include <stddef.h>

struct arena;
struct selection;
struct stacks;

/* The program's command line, "" where it is not known. */
const char *label_command(const struct selection *s);
/* "MainThread", "thread 123". */
const char *label_thread(struct arena *a, const struct stacks *s, size_t thread);
/* The thread a viewer should show first: the one that was busiest. */
size_t label_first_thread(const struct stacks *s);

#endif
