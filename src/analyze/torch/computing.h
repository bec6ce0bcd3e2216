/* SPDX-License-Identifier: MIT
 *
 * When the host computed: moments at which, on any thread, the innermost operator is not one that communicates. An operator that called a
 * collective does not compute while that lasts; nor does one that waits for it, since waiting is the collective's. Without a device this
 * is what covers communication. */
#ifndef ANALYZE_TORCH_COMPUTING_H
#define ANALYZE_TORCH_COMPUTING_H

#include <stdint.h>

#include "base/vec.h"

struct op_processes;
struct ops_tree;

struct op_moment {
	int64_t t_ns;
	int32_t change; /* +1: an operator began to compute; -1: it ended, or made way */
};

struct op_moments {
	VEC(struct op_moment) v; /* in no order; the sum up to a moment is how many compute */
};

/* Of one process, or of all where `of` is NULL. The caller frees them. */
struct op_moments op_computing_find(
	const struct ops_tree *t, const struct op_processes *of, uint32_t process);

#endif
