/* SPDX-License-Identifier: MIT
 *
 * numpy arrays and scalars, torch tensors: type, dtype, shape, device. Their structs belong to other
 * projects and are not in our tables, so what is found must prove itself:
 *
 *	numpy   number of dimensions, dimensions, and a dtype whose own type says so (the struct is part
 *	        of numpy's binary interface)
 *	torch   the C++ tensor holds a pointer back to the Python object; behind it come the number of
 *	        dimensions, sizes, strides, offset and number of elements, which must be the product */
#ifndef CPYTHON_VALUE_ARRAY_H
#define CPYTHON_VALUE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct object_type;
struct objects;

/* false, and nothing appended: it is none of these, or did not prove to be. */
bool value_array_format(
	struct objects *o, uint64_t address, const struct object_type *t, struct buf *out);

#endif
