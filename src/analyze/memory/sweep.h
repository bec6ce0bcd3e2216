/* SPDX-License-Identifier: MIT
 * How much was alive, moment by moment: a part of memory.c. */
#ifndef ANALYZE_MEMORY_SWEEP_H
#define ANALYZE_MEMORY_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_blocks;

struct memory_sweep {
	uint64_t from_ns, to_ns; /* where the peak is looked for */
	const bool *processes;   /* by index, which count; NULL: all */
	/* From t_ns to until_ns so much was alive; NULL: nobody asks. */
	void (*draw)(void *ctx, uint64_t t_ns, uint64_t until_ns, double live);
	void *ctx;
	uint64_t *ret_by_process; /* the moment of each process's own peak; NULL: not asked */
};

/* Numbers of blocks in the order in which they were gone; owned by the caller. */
uint32_t *memory_by_end(const struct memory_blocks *b);
/* The moment at which all that count together had most. All that happened at one moment happened at once. */
uint64_t memory_sweep(
	const struct memory_blocks *b, const uint32_t *by_end, const struct memory_sweep *o);

#endif
