/* SPDX-License-Identifier: MIT
 * The inside of live.h, shared by live.c (what is asked) and live_records.c (what comes in). */
#ifndef ANALYZE_SAMPLES_LIVE_STATE_H
#define ANALYZE_SAMPLES_LIVE_STATE_H

#include "analyze/samples/live.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "wire/records.h"

#define LIVE_SLICE_NS (LIVE_SLICE_MS * 1000000ull)
#define LIVE_NO_PLACE UINT32_MAX

enum live_when { LIVE_NOW, LIVE_SINCE };

struct live_frame {
	uint32_t function, line; /* indexes of rows */
};

struct live_stack { /* a row of the stack table */
	struct live_frame frame;
	uint32_t parent;
	bool is_known;
};

struct live_place {
	uint32_t thread; /* index */
	uint32_t stack, leaf_code, leaf_offset;
	struct live_frame leaf;
	bool has_leaf, is_touched;
	uint64_t slice;               /* number of the slice that holds it last, */
	uint32_t in_slice;            /* and where */
	double since[STACKS_STATES_]; /* seconds */
	double fresh[STACKS_STATES_]; /* the part of `since` that is in no row yet */
};

struct live_delta { /* what a slice added to a place */
	uint32_t place;
	double s[STACKS_STATES_];
};

struct live_thread_delta {
	uint32_t thread;
	uint64_t cpu_ns;
};

struct live_slice {
	uint64_t number;  /* + 1; 0: never used */
	uint64_t n_looks; /* at the thread that was looked at most */
	double cpu_s, rss_bytes;
	VEC(struct live_delta) places;
	VEC(struct live_thread_delta) threads;
};

struct live_thread_state {
	struct live_thread shown;
	bool has_usage;
	uint64_t cpu_ns;            /* as last told */
	uint32_t place;             /* of its last sample, or LIVE_NO_PLACE */
	uint16_t bits;              /* enum sample_state of its last sample … */
	double on_cpu;              /* … and how much of its time it was on a CPU */
	uint64_t slice, n_in_slice; /* number of its last sample's slice, and its samples in that */
	double cpu_s, gil_s, wall_s; /* of the window, while it is summed up */
};

struct live_process { /* by row - 1 */
	uint64_t t_ns, cpu_ns, rss_bytes;
	uint32_t n_threads;
	bool is_gone;
};

struct live {
	struct tables *tables; /* borrowed */
	struct weights *weights;
	struct frames *frames; /* in the arena */
	struct arena arena, built;
	size_t n_chunks; /* of the reader, taken in so far */
	/* the ring of slices, numbered from origin_ns */
	uint64_t origin_ns, first_ns, last_ns, since_ns, last_slice;
	struct live_slice slices[LIVE_HISTORY];
	/* places */
	struct intern place_keys;
	VEC(struct live_place) places;
	VEC(uint32_t) touched; /* places with something fresh */
	/* threads, by pid and tid: the sampler and the host collector may have different rows of one */
	VEC(struct live_thread_state) threads;
	VEC(uint32_t) by_thread_row; /* row - 1 → index + 1 */
	struct map thread_index;     /* pid << 32 | tid → index */
	VEC(struct live_process) processes;
	uint32_t root; /* row of the program itself */
	/* rows */
	VEC(struct live_stack) stacks; /* by row - 1 */
	struct intern function_keys, line_keys;
	VEC(struct live_row) functions;
	VEC(struct live_row) lines;
	VEC(uint64_t) function_seen;
	VEC(uint64_t) line_seen; /* serial of the last place that counted it */
	uint64_t serial;
	/* the answer */
	struct live_select select;
	bool was_reset;
	struct live_thread *shown;
	struct live_view view;
};

/* The slice of that number if it is still there. */
struct live_slice *live_slice_find(struct live *l, uint64_t number);

#endif
