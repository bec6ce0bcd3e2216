/* SPDX-License-Identifier: MIT
 *
 * What `leadline run --torch=full` adds to a trace of torch.profiler, since that knows it and does not write it (agent/bootstrap/torch_lines.py): a key of its
 * object, OP_LINES_KEY, whose value is
 *
 *	{"places": ["train.py(12): step", …],
 *	 "calls": [t, place, …],	Python functions that begin at t were called from there
 *	 "ops": [t, place, …],		operators likewise, that Python's own signs (+, @, []) call
 *	 "names": [t, name, …],		regions' names, which torch writes as "unknown" or without some of their characters
 *	 "modules": {"Linear_0": "layers.3.qkv", …}}
 *
 * t: ns since the epoch, the first one; those that follow as the difference from the one before. place: a number in places. */
#ifndef ANALYZE_TORCH_LINES_H
#define ANALYZE_TORCH_LINES_H

#include <stddef.h>
#include <stdint.h>

struct op_events;

/* base_ns: when the events' times begin, since the epoch. What makes no sense is left out. */
void op_lines_take(struct op_events *x, const void *json, size_t n, int64_t base_ns);

#endif
