/* SPDX-License-Identifier: MIT
 *
 * What a value looks like, read from somebody's memory: as repr() would print it, cut short, and
 * without running anything.
 *
 *	None, bool, int (up to 960 bits), float, complex, str, bytes, list, tuple, dict, set, frozenset
 *	subclasses of these as Class(…), exceptions as Class(arguments)
 *	classes, functions and modules by name
 *	numpy arrays and torch tensors as type, dtype and shape; a tensor only when what is found there
 *	proves to be one (it leads back to its object, and its sizes multiply to its number of elements)
 *	anything else as <module.Class at 0x…>
 *
 * The program runs on: what changes meanwhile is shown as it was met, "?" where nothing fits. */
#ifndef CPYTHON_VALUE_H
#define CPYTHON_VALUE_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct objects;

struct value_limits {
	size_t bytes;   /* of the text; longer ones end in "…" */
	size_t chars;   /* of one str or bytes */
	unsigned items; /* of one container */
	unsigned depth; /* of containers in containers */
};

extern const struct value_limits value_limits_usual;

void value_format(
	struct objects *o, uint64_t address, const struct value_limits *limits, struct buf *out);

/* An int that a reference carries itself (3.14+). */
void value_format_int(int64_t value, struct buf *out);

#endif
