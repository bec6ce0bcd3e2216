/* SPDX-License-Identifier: MIT
 * Hand-made PyTorch traces for tests: spans, launches and what they launched, one call each. Times are ns. */
#ifndef ANALYZE_TORCH_RIG_H
#define ANALYZE_TORCH_RIG_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/torch/events.h"

#define OP_RIG_THREAD       "7\0001", 3
#define OP_RIG_OTHER_THREAD "7\0002", 3
#define OP_RIG_STREAM       "0\00020", 4
#define OP_RIG_OTHER_STREAM "0\00021", 4

/* Its number among the events. */
static inline uint32_t op_rig_span(struct op_events *x, enum op_category category, const char *name,
	const char *track, size_t n, int64_t start_ns, int64_t duration_ns)
{
	struct op_event e = { .start_ns = start_ns,
		.duration_ns = duration_ns,
		.name = intern_adds(&x->names, name),
		.track = (uint16_t)intern_add(&x->tracks, track, n, NULL),
		.category = (uint8_t)category };

	vec_push(&x->v, e);
	return (uint32_t)x->v.n - 1;
}

/* An operator with a number, which what it launches is linked to. */
static inline uint32_t op_rig_operator(
	struct op_events *x, const char *name, int64_t start_ns, int64_t duration_ns, uint32_t link)
{
	uint32_t at = op_rig_span(x, OP_CPU, name, OP_RIG_THREAD, start_ns, duration_ns);

	x->v.v[at].link = link;
	return at;
}

/* A call of the runtime; correlation 0: it launches nothing. */
static inline uint32_t op_rig_launch(struct op_events *x, int64_t start_ns, int64_t duration_ns,
	uint32_t link, uint32_t correlation)
{
	uint32_t at = op_rig_span(
		x, OP_RUNTIME, "cudaLaunchKernel", OP_RIG_THREAD, start_ns, duration_ns);

	x->v.v[at].link = link;
	x->v.v[at].detail = correlation;
	return at;
}

/* What the event on the device says of itself, and the operator and the launch it belongs to. */
static inline void op_rig_device(
	struct op_events *x, uint32_t event, uint32_t link, struct op_device says)
{
	vec_push(&x->device, says);
	x->v.v[event].link = link;
	x->v.v[event].detail = (uint32_t)x->device.n;
}

/* A kernel that says nothing but its launch. */
static inline uint32_t op_rig_kernel(struct op_events *x, const char *name, int64_t start_ns,
	int64_t duration_ns, uint32_t link, uint32_t correlation)
{
	uint32_t at = op_rig_span(x, OP_KERNEL, name, OP_RIG_STREAM, start_ns, duration_ns);

	op_rig_device(x, at, link,
		(struct op_device){
			.correlation = correlation, .blocks_per_sm = NAN, .occupancy = NAN });
	return at;
}

#endif
