/* SPDX-License-Identifier: MIT
 *
 * What functions were called with (agent/calls/args.c), in the sparse area: granules of kind TRACE_GRANULE_ARGS, each with one struct
 * args_sketch of one function in one thread. The arguments of a call come down to one hash: the value of None, truth values,
 * numbers, short texts, and tuples of these; the size of longer ones and of other containers; of all else the type. A call of
 * which not everything is in the hash is opaque.
 *
 * Samples are of hashes, not of calls: those whose lowest `level` bits are 0, each counted from its first call on. Samples
 * of several threads are one sample at the highest of their levels. `frequent` are the arguments seen most
 * often: `count` is at most `over` too high, and what is not here was seen no more often than the least count. */
#ifndef WIRE_ARGS_AREA_H
#define WIRE_ARGS_AREA_H

#include <stdint.h>

#include "wire/trace.h"

enum {
	ARGS_SAMPLES = 128,
	ARGS_FREQUENT = 16,
	ARGS_TEXT = 88,
	ARGS_LEVEL_MAX = 48,
};

struct args_sample {
	uint64_t hash; /* 0: unused */
	uint64_t count;
};

struct args_frequent {
	uint64_t hash; /* 0: unused */
	uint64_t count, over;
	char text[ARGS_TEXT]; /* "(int 20, str[5])"; empty: seen once. Not ended when full */
};

struct args_sketch {
	uint32_t function; /* its number (wire/trace.h) */
	uint32_t level;
	uint64_t n_calls;  /* looked at */
	uint64_t n_opaque; /* of them */
	struct args_sample samples[ARGS_SAMPLES];
	struct args_frequent frequent[ARGS_FREQUENT];
};

_Static_assert(sizeof(struct args_sketch) <= TRACE_GRANULE_BYTES - sizeof(struct trace_granule),
	"one to a granule");

#endif
