/* SPDX-License-Identifier: MIT
 * For tests of formats: bytes read as a file, stacks of them, and files written into memory. */
#ifndef FORMATS_FORMATS_RIG_H
#define FORMATS_FORMATS_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/selection.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct format;

struct opened {
	struct arena arena;
	struct recording *recording;
	struct selection *selection;
	const struct stacks *stacks;
	struct err e;
	int status; /* of reading */
};

/* The bytes as a file of any format, recognised as format_open does; name: what it must be taken for, NULL
 * for a file that must not be recognised. */
void opened_init(struct opened *o, const char *name, const void *bytes, size_t n);
void opened_done(struct opened *o);
/* What stands at a stack "root;…;leaf" of names, added up over all threads and lines. */
double opened_value(const struct opened *o, const char *stack);
/* The file of this format, made of it. */
void opened_write(const struct opened *o, const char *format, struct buf *to);

#endif
