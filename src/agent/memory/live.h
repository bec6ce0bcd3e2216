/* SPDX-License-Identifier: MIT
 *
 * The sampled blocks that are alive, by address. Every release of the program looks here, and nearly all of them are of blocks that were
 * not sampled: one byte of a small filter says so. Behind it lie buckets of eight addresses, one cache line each; a block
 * whose bucket is full is not taken (the caller counts it).
 *
 * No locks: a place is taken and given back by compare-and-swap, so threads, signal handlers and forks can come at any moment. Two
 * threads never ask for the same address at once: a block belongs to one of them until it is released. The memory is wiped in
 * a forked child, whose blocks are its own. */
#ifndef AGENT_MEMORY_LIVE_H
#define AGENT_MEMORY_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	LIVE_FILTER_LOG2 = 16,
	LIVE_BUCKETS_LOG2 = 17,
	LIVE_BUCKET = 8,
	LIVE_FILTER_MOST = 255, /* a counter of the filter that got there stays */
};

struct live {
	_Atomic uint8_t filter[1 << LIVE_FILTER_LOG2];
	_Alignas(64) _Atomic uint64_t buckets[1 << LIVE_BUCKETS_LOG2][LIVE_BUCKET];
};

#pragma GCC visibility push(hidden)

static inline uint64_t live_hash(uint64_t address)
{
	return (address >> 4) * 0x9e3779b97f4a7c15u;
}

/* Neighbours have neighbouring counters: programs release what lies close together, and the filter's lines stay in the cache. */
static inline uint32_t live_filter_at(uint64_t address)
{
	return (uint32_t)(address >> 8 ^ address >> 24) & ((1u << LIVE_FILTER_LOG2) - 1);
}

/* False: it is not there, for certain. */
static inline bool live_may_have(const struct live *l, uint64_t address)
{
	return atomic_load_explicit(&l->filter[live_filter_at(address)], memory_order_relaxed) != 0;
}

/* False: no room. */
bool live_add(struct live *l, uint64_t address);
/* Whether it was there. */
bool live_remove(struct live *l, uint64_t address);

#pragma GCC visibility pop

#endif
