/* SPDX-License-Identifier: MIT
 *
 * Files of other tools: one file per format, one row in registry.c. */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stddef.h>

struct buf;
struct err;
struct tables;

struct format {
	const char *name, *suffix, *summary;
	const char *alias; /* another tool's name for it, or NULL */
	/* Appends the whole file to out. */
	int (*emit)(struct tables *t, struct buf *out, struct err *e);
};

extern const struct format *const formats[];
extern const size_t n_formats;

const struct format *format_find(const char *name); /* NULL when there is none */

#endif
