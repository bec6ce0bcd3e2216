/* SPDX-License-Identifier: MIT
 * Recognising memory_profiler's files; see dat.c. */
#ifndef FORMATS_DAT_H
#define FORMATS_DAT_H

#include <stdbool.h>
#include <stddef.h>

/* Its lines end in numbers as collapsed stacks do: those ask. */
bool dat_recognise(const char *head, size_t n);

#endif
