/* SPDX-License-Identifier: MIT
 *
 * The streams of the devices in a PyTorch trace: how long each had nothing to run between its first and its last event, and what
 * it waited for. A gap before something is
 *   - host wait, where its launch began only after what ran before had ended: the host was late;
 *   - kernel wait, where it was launched in time and the gap is shorter than OP_KERNEL_GAP_NS: what one kernel after the other costs;
 *   - other: it was launched in time and waited for something else (another stream, an event, a copy), or its launch is not known.
 *
 * The queue of a stream is what was launched and has not begun: longer by one when a launch begins, shorter when its work does. A
 * device whose queue is empty most of the time waits for the host. */
#ifndef ANALYZE_TORCH_STREAMS_H
#define ANALYZE_TORCH_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/torch/level_curve.h"

struct arena;
struct op_events;

enum {
	OP_KERNEL_GAP_NS = 30000,
	OP_SLOW_LAUNCH_NS = 50000, /* a call that took longer is an outlier */
	OP_LATE_NS = 100000,       /* work that began later waited */
	OP_SLOWEST = 5,
};

struct op_stream {
	const char *device, *stream; /* as the trace numbers them */
	uint64_t n_events;
	double span_s, busy_s; /* from the first begin to the last end; something ran */
	double host_wait_s, kernel_wait_s, other_s; /* together span less busy */
	double mean_queue;                          /* over its span; NAN: no launch is known */
	double empty_share; /* of its span nothing was queued; NAN likewise */
	uint64_t longest_queue;
	double queue[OP_CURVE]; /* from the first launch of all streams to the last end */
};

struct op_slow_launch {
	const char *call, *operator_name; /* "cudaLaunchKernel"; "": not known */
	const char *launched;             /* the kernel */
	double at_s, seconds;             /* since profiling began */
};

struct op_streams {
	const struct op_stream *v; /* the busiest first */
	size_t n;
	/* Launches with what they launched. */
	uint64_t n_launches;
	uint64_t n_short; /* what was launched took less time than to launch it */
	uint64_t n_slow, n_late;
	/* from the end of the launch to the begin on the device, 0 at least */
	double median_delay_s, p99_delay_s, max_delay_s;
	double median_launch_s, p99_launch_s, max_launch_s;
	/* calls longer than OP_SLOW_LAUNCH_NS, longest first */
	const struct op_slow_launch *slowest;
	size_t n_slowest;
};

const struct op_streams *op_streams_build(struct arena *a, struct op_events *x);

#endif
