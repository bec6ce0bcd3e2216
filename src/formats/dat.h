/* SPDX-License-Identifier: MIT
 * The row of registry.c for memory_profiler's files; see dat.c. */
#ifndef FORMATS_DAT_H
#define FORMATS_DAT_H

#include <stdbool.h>
#include <stddef.h>

extern const struct format format_dat;

/* Its lines end in numbers as collapsed stacks do: those ask. */
bool dat_recognise(const char *head, size_t n);

#endif
