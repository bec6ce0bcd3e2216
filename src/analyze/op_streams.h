/* SPDX-License-Identifier: MIT
 *
 * The streams of the devices in a PyTorch trace: how long each had nothing to run between its first and its last event, and what
 * it waited for. A gap before something is
 *   - host wait, where its launch began only after what ran before had ended: the host was late;
 *   - kernel wait, where it was launched in time and the gap is shorter than OP_KERNEL_GAP_NS: what one kernel after the other costs;
 *   - other: it was launched in time and waited for something else (another stream, an event, a copy), or its launch is not known. */
#ifndef ANALYZE_OP_STREAMS_H
#define ANALYZE_OP_STREAMS_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;

enum { OP_KERNEL_GAP_NS = 30000 };

struct op_stream {
	const char *device, *stream; /* as the trace numbers them */
	uint64_t n_events;
	double span_s, busy_s; /* from the first begin to the last end; something ran */
	double host_wait_s, kernel_wait_s, other_s; /* together span less busy */
};

struct op_streams {
	const struct op_stream *v; /* the busiest first */
	size_t n;
	/* Launches with what they launched. */
	uint64_t n_launches;
	uint64_t n_short;      /* what was launched took less time than to launch it */
	double median_delay_s; /* from the end of the launch to the begin on the device, 0 at least */
	double median_launch_s;
};

const struct op_streams *op_streams_build(struct arena *a, struct op_events *x);

#endif
