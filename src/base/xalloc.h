/* SPDX-License-Identifier: MIT
 *
 * Allocation for the tool: never returns NULL. Out of memory, or a size that overflows, prints one
 * line and ends the tool with status 125 (a profiler cannot go on; the program it watches can).
 * Never used by agent/, wire/ or bpf/, which live in other people's processes. */
#ifndef BASE_XALLOC_H
#define BASE_XALLOC_H

#include <stddef.h>

void *xmalloc(size_t n_bytes) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t item_bytes) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t n, size_t item_bytes) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));

#endif
