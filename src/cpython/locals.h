/* SPDX-License-Identifier: MIT
 *
 * The local variables of a frame: arguments, locals, variables that an inner function shares (cells)
 * and those of the function around (free). A module's or class body's names are no locals of its frame
 * and are not here. */
#ifndef CPYTHON_LOCALS_H
#define CPYTHON_LOCALS_H

#include <stdbool.h>
#include <stdint.h>

struct objects;

enum { LOCALS_MOST = 256 };

enum local_kind { LOCAL_ARGUMENT, LOCAL_PLAIN, LOCAL_FREE };

struct local {
	const char *name; /* valid during the call */
	enum local_kind kind;
	uint64_t value; /* address of the object */
	bool is_number; /* 3.14+: the reference is an int itself: `number` */
	int64_t number;
};

typedef void local_visitor(void *ctx, const struct local *l);

/* Those that have a value, in the order of the code object. 0, or -errno when the code object cannot
 * be read. frame: address of a frame that runs this code. */
int locals_each(struct objects *o, uint64_t code, uint64_t frame, local_visitor *visit, void *ctx);

#endif
