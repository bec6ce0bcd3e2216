/* SPDX-License-Identifier: MIT
 *
 * What calling contexts did in a window of time, by the timeline of the recording: calls and resumptions that began in it, and of all
 * that were open their time in it, to the nanosecond. So windows that touch one another add up to the whole.
 *
 * Longest and shortest calls, their distribution and time suspended are not known of a part. What tracing cost is taken by the
 * number of events. */
#ifndef ANALYZE_CALLS_NODES_WINDOW_H
#define ANALYZE_CALLS_NODES_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/calls/timeline.h"

struct arena;
struct frames;
struct node;
struct tables;

/* Leaves of n nodes what lies in the window. places: of each, as in rec_node; 0: none, a thread. False, and nothing is changed, where the
 * recording does not tell when all calls were: some were left out for being short, or lost, or there is no timeline. */
bool nodes_window_cut(struct arena *a, struct tables *t, struct frames *f,
	const struct timeline_window *w, struct node *v, const uint64_t *places, size_t n);

#endif
