/* SPDX-License-Identifier: MIT
 *
 * The one-file page: the page with its answers inside, made beforehand and compressed. It opens from a disk without any
 * network. What matters most comes first; what does not fit the size asked for is left out, and the page says so. */
#ifndef SERVE_ONEFILE_H
#define SERVE_ONEFILE_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct library;

/* Appends the whole page, at most max_bytes; `dropped` gets what was left out, a line each. ERR_USAGE when not even
 * the page and an overview fit. */
int onefile_make(
	struct library *l, uint64_t max_bytes, struct buf *out, struct buf *dropped, struct err *e);

#endif
