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
#include <stddef.h>
#include <stdint.h>

struct buf;
struct object_type;
struct objects;

enum { VALUE_ARRAY_DIMENSIONS = 64 };

struct value_array {
	const char *dtype; /* without "numpy."; NULL: not known. Borrowed from the objects */
	size_t n;          /* dimensions */
	int64_t sizes[VALUE_ARRAY_DIMENSIONS];
	bool is_tensor;
	uint64_t device; /* of a tensor, as torch keeps it */
};

/* An array or tensor; false: it is none, or did not prove to be. */
bool value_array_read(
	struct objects *o, uint64_t address, const struct object_type *t, struct value_array *ret);
/* The product of its sizes; false when that does not fit. */
bool value_array_elements(const struct value_array *a, uint64_t *ret);

/* false, and nothing appended: it is none of these, or did not prove to be. */
bool value_array_format(
	struct objects *o, uint64_t address, const struct object_type *t, struct buf *out);

#endif
