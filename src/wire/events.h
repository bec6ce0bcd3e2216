/* SPDX-License-Identifier: MIT
 *
 * Calls in the order of time, as agents write them and recordings hold them: a block of bytes per thread, in
 * which each event is one or two varints (7 bits a byte, the low ones first).
 *
 *	time	ticks of the session's clock since the event before, the lowest bit taken away;
 *		that bit is 1 when the innermost open call ends, else a call begins and follows:
 *	call	zigzag difference to the reference (trace.h) of the call before, × 4, + enum event_how
 *
 * So a call is some four bytes, its end one or two. A block stands for itself: its head holds what the first
 * differences refer to, and how many calls were open. The beginning of a call is written when something in it, or
 * the call itself, ends; calls that are shorter than what the user wants to see leave nothing at all.
 *
 * A thread fills a block in the sparse area (a granule of TRACE_GRANULE_EVENTS: a head, then struct
 * event_block), sends it as TRACE_RECORD_EVENTS when it is full, and begins the next in the same place. What a
 * killed process had not sent is still there; `sequence` tells what was sent already. */
#ifndef WIRE_EVENTS_H
#define WIRE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/trace.h"

enum event_how {
	EVENT_SEEN,   /* ran already when it was first seen */
	EVENT_CALL,   /* was called */
	EVENT_RESUME, /* a generator or coroutine goes on */
};

enum {
	EVENT_BYTES_MOST = 16, /* of one event: two varints */
	EVENT_HOW_BITS = 2,
};

struct event_block {
	uint64_t sequence; /* of the thread's blocks, from 1 */
	uint64_t base;     /* stamp of the event before the first */
	/* events of earlier blocks that nobody took, since the last that was sent */
	uint64_t n_lost;
	uint64_t filled; /* events << 32 | bytes: one word, so that both are of one instant */
	uint32_t thread; /* number in the process */
	int32_t tid;
	uint32_t ref;   /* of the call before the first */
	uint32_t depth; /* calls open before the first event */
};

enum {
	EVENT_BLOCK_BYTES =
		TRACE_GRANULE_BYTES - sizeof(struct trace_granule) - sizeof(struct event_block)
};

static inline unsigned char *event_put_varint(unsigned char *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (unsigned char)(v | 0x80);
	*to++ = (unsigned char)v;
	return to;
}

/* Moves *at on; false when the bytes end within it, or it is longer than any number. */
static inline bool event_get_varint(
	const unsigned char **at, const unsigned char *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char c = *(*at)++;

		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static inline uint32_t event_zigzag(int32_t v)
{
	return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}

static inline int32_t event_unzigzag(uint32_t v)
{
	return (int32_t)(v >> 1 ^ -(v & 1));
}

#endif
