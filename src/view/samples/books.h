/* SPDX-License-Identifier: MIT
 * See analyze/samples/books.h. */
#ifndef VIEW_SAMPLES_BOOKS_H
#define VIEW_SAMPLES_BOOKS_H

#include <stddef.h>

struct books;
struct buf;

/* "accounted: 99.4 % of 20.0 s of CPU, 99.9 % of 41 s of threads; 34 threads not seen (by ids)" */
void books_describe(const struct books *b, struct buf *to);
/* "6 threads "OpenBLAS" 12.3 s, 1 thread "pool" 20 ms": threads without Python that used a CPU, so many kinds; nothing where there
 * are none. */
void books_describe_native(const struct books *b, size_t limit, struct buf *to);

#endif
