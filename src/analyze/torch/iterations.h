/* SPDX-License-Identifier: MIT
 *
 * The iterations of a training loop: which calls of optimizers belong to one, where it begins, and what lies between two.
 *
 * Calls are told apart by their name, their line and how much ran backward before them. Where they come in the same order again
 * and again (a GAN: the one, then the other), one round of them is one iteration.
 *
 * From one iteration's end to the next one's, a program may do more than train. A usual iteration is laid over each, from its end
 * on: what is left over at its beginning was inserted. That is no part of the iteration if the program saved something
 * meanwhile, or if it looks like forward passes without a backward one (validation); before the first it is set-up. */
#ifndef ANALYZE_TORCH_ITERATIONS_H
#define ANALYZE_TORCH_ITERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct op_course;
struct op_periods;

struct op_window {         /* from one iteration's end to the next one's */
	size_t first, end; /* actions [first, end) */
	int64_t since_ns, until_ns;
	uint32_t name; /* of the mark; OPS_NONE */
};

struct op_save {
	int64_t start_ns, end_ns;
};

struct op_windows {
	VEC(struct op_window) v;
	VEC(struct op_save) saves; /* of this process, in the order of time */
	bool begins_anywhere;      /* before the first is what came before the loop */
};

/* Fills *to with rounds of optimizers' calls; false: there are less than two. */
bool op_iterations_find(const struct op_course *c, struct op_windows *to, unsigned *ret_n_calls);
/* Adds a period for each, and validations, to *to. */
void op_iterations_cut(
	const struct op_course *c, const struct op_windows *w, struct op_periods *to);
void op_windows_done(struct op_windows *w);

#endif
