/* SPDX-License-Identifier: MIT
 *
 * What an object is, in a few words: its type, how large it is, and the name of a function. For evidence, so every
 * number has one meaning:
 *
 *	list tuple dict set str bytes bytearray deque array   items or characters
 *	int                                                   bits
 *	numpy arrays, torch tensors                           elements; name: the dtype
 *	functions, methods, types, ufuncs                     name: "sum", "math.sqrt", "list.append"; no size */
#ifndef CPYTHON_DESCRIBE_H
#define CPYTHON_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

struct objects;

enum { DESCRIPTION_TEXT = 128 };

struct description {
	char type[DESCRIPTION_TEXT]; /* "list", "numpy.ndarray", "shop.Order" */
	char name[DESCRIPTION_TEXT]; /* "" none */
	uint64_t size;               /* UINT64_MAX: it has none, or it is not known */
};

/* false: there is no object. */
bool describe_object(struct objects *o, uint64_t address, struct description *ret);
/* Whether calling it makes sense; *ret gets its name then. */
bool describe_callee(struct objects *o, uint64_t address, struct description *ret);

#endif
