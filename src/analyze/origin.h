/* SPDX-License-Identifier: MIT
 *
 * Where the figures of a recording come from: our own sampler, or another tool's file (formats/format.h),
 * whose values may be of other things than time. Analyses carry such values in the fields named seconds:
 * their unit is the stacks' and the profile's `unit`. */
#ifndef ANALYZE_ORIGIN_H
#define ANALYZE_ORIGIN_H

#include <stdbool.h>

#include "base/units.h"

struct arena;
struct tables;

struct origin {
	bool is_foreign;
	const char *format;  /* "pprof"; "" for recordings of our own */
	const char *measure; /* the file's word for the value: "cpu", "alloc_space"; "" none */
	const char *note;    /* what else is to be said of the file: a clause, or "" */
	enum unit unit;      /* UNIT_SECONDS (our own always), UNIT_BYTES or UNIT_COUNT */
};

struct origin origin_build(struct arena *a, struct tables *t);

#endif
