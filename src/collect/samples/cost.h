/* SPDX-License-Identifier: MIT
 *
 * What looks at a thread cost it. A look stops nothing; but each cache line that was copied must be fetched back
 * when the program writes there next. So the lines count that differ between two copies in a row, which is what it
 * wrote in between. Every 16th pair of copies is compared, and stands for 16. Lines that were written again with what
 * was there before are not seen, nor what the recorder's own CPU time takes from a program that needs all CPUs. */
#ifndef COLLECT_SAMPLES_COST_H
#define COLLECT_SAMPLES_COST_H

#include <stddef.h>
#include <stdint.h>

/* Measured by benchmarks/sampler.py (docs/decisions/0007). */
static const double PY_COST_LINE_NS = 125;

struct py_cost {
	unsigned char *kept; /* owned */
	size_t n_kept, capacity;
	uint64_t key;
	uint64_t n_looks;
	uint64_t n_lines; /* written again after a look, estimated */
};

void py_cost_done(struct py_cost *c);

/* A look copied these bytes. Copies with the same key are of the same addresses. */
void py_cost_look(struct py_cost *c, uint64_t key, const unsigned char *bytes, size_t n);

#endif
