/* SPDX-License-Identifier: MIT
 *
 * What leads from one span of a PyTorch trace to another: from a launch to what it launched on the device, and from an operator
 * to the one of autograd that belongs to it (as torch draws them: of those with one sequence number the last of each side). */
#ifndef ANALYZE_TORCH_FLOWS_H
#define ANALYZE_TORCH_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;

struct op_flow {
	uint32_t from, to; /* events */
	bool is_backward;  /* from an operator to autograd's; else a launch */
};

struct op_flows {
	const struct op_flow *v; /* launches by what they launched, then the others */
	size_t n;
};

const struct op_flows *op_flows_build(struct arena *a, const struct op_events *x);

/* Those that begin or end in the event, or in one within it on the same thread; at most `most`, their indices in to[]. Returns how many
 * there are. */
size_t op_flows_of(const struct op_flows *f, const struct op_events *x, uint32_t event, size_t most,
	uint32_t *to);

#endif
