/* SPDX-License-Identifier: MIT
 *
 * Text for places that know no UTF-8 (base/tty.h says which): one table says what stands for the signs that our pages are made
 * of. Everything else, such as names in a program, becomes \xe4, \u6f22 or \U0001f600, so that no two become the same. */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include <stddef.h>

struct buf;

/* Appends lines of text. Where a sign becomes longer, the next wide gap of its line gives way, so that columns stay. */
void ascii_add(struct buf *out, const char *s, size_t n);

/* Appends text for screens, which place it by columns: each character takes as many as before. */
void ascii_add_cells(struct buf *out, const char *s, size_t n);

/* What to write of a text: itself where UTF-8 is known, else `room` with what stands for it, made by one of the above. The caller
 * frees `room`, which begins empty. */
const struct buf *ascii_where_needed(const struct buf *text, struct buf *room,
	void (*add)(struct buf *out, const char *s, size_t n));

#endif
