/* SPDX-License-Identifier: MIT
 *
 * What differs between two processes that run the same code: hash seed and the size of the environment, which moves the
 * stack. Drawn anew from a seed, so that no lucky layout decides, and the same for both sides of a comparison. */
#ifndef BENCH_RANDOM_LAYOUT_H
#define BENCH_RANDOM_LAYOUT_H

#include <stdint.h>

struct random_layout {
	const char *environment[3]; /* "NAME=value", ended by NULL; owned */
};

struct random_layout random_layout_of(uint64_t seed);
void random_layout_done(struct random_layout *l);

/* The next number of a row that `state` stands for (splitmix64): for seeds and for who runs first. */
uint64_t random_next(uint64_t *state);

#endif
