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

struct format_rig {
	struct arena arena;
	struct recording *recording;
	struct selection *selection;
	const struct stacks *stacks;
	struct err e;
	int status; /* of reading */
};

/* The bytes as a file of any format, recognised as format_load does; name: what it must be taken for, NULL
 * for a file that must not be recognised. */
void format_rig_open(struct format_rig *o, const char *name, const void *bytes, size_t n);
void format_rig_close(struct format_rig *o);
/* What stands at a stack "root;…;leaf" of names, added up over all threads and lines. */
double format_rig_value(const struct format_rig *o, const char *stack);
/* The file of this format, made of it. */
void format_rig_write(const struct format_rig *o, const char *format, struct buf *to);

#endif
