/* SPDX-License-Identifier: MIT
 *
 * Some of the events of a trace as a trace of their own: those of one process, or of some stretches of time. What a device did goes
 * with the operator that asked for it. Names and tracks keep their numbers. */
#ifndef ANALYZE_TORCH_SUBSET_H
#define ANALYZE_TORCH_SUBSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_events;
struct stretch;

struct op_subset {
	const char *process; /* as the tracks have it, a pid; NULL: all */
	/* in the order of time, what begins in one; NULL: always */
	const struct stretch *within;
	size_t n_within;
};

/* Fills *to, which the caller ends with op_events_done. */
void op_subset_take(const struct op_events *x, const struct op_subset *which, struct op_events *to);

#endif
