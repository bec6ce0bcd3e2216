/* SPDX-License-Identifier: MIT
 *
 * What one thread of a program did, in the order of time, as far as steps are found by it: operators that no operator called, calls of
 * optimizers and batches of a DataLoader (without what these call); and when anything of its process ran backward. */
#ifndef ANALYZE_TORCH_COURSE_H
#define ANALYZE_TORCH_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct op_processes;
struct ops_tree;

enum op_sign {
	OP_SIGN_OPTIMIZER = 1 << 0,
	OP_SIGN_ZERO_GRAD = 1 << 1,
	OP_SIGN_BATCH = 1 << 2, /* taken from a DataLoader */
	OP_SIGN_BACKWARD = 1 << 3,
};

struct op_action {
	int64_t start_ns, end_ns;
	uint32_t node, name;
	uint8_t signs;
};

struct op_backward {
	int64_t start_ns, end_ns;
};

struct op_course {
	const struct ops_tree *t;
	uint8_t *signs;      /* by name; owned */
	VEC(uint32_t) nodes; /* operators and annotations of the process */
	VEC(struct op_action) v;
	VEC(struct op_backward) backward; /* by start */
};

/* Of that process (processes.h); of the thread that steps most often, else of the one with most operators. */
void op_course_init(struct op_course *c, const struct ops_tree *t, const struct op_processes *p,
	uint32_t process);
void op_course_done(struct op_course *c);

/* By name. */
uint8_t op_sign_of(const char *name);
/* How many backward spans begin in [from, until). */
size_t op_course_backward(const struct op_course *c, int64_t from_ns, int64_t until_ns);
/* The first action that begins at that time or later. */
size_t op_course_at(const struct op_course *c, int64_t t_ns);

#endif
