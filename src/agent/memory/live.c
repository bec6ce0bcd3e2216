/* SPDX-License-Identifier: MIT
 * See live.h. */
#include "agent/memory/live.h"

static _Atomic uint8_t *filter_of(struct live *l, uint64_t address)
{
	return &l->filter[live_filter_at(address)];
}

static _Atomic uint64_t *bucket_of(struct live *l, uint64_t address)
{
	return l->buckets[live_hash(address) >> (64 - LIVE_BUCKETS_LOG2)];
}

static void filter_change(_Atomic uint8_t *f, int by)
{
	uint8_t now = atomic_load_explicit(f, memory_order_relaxed);

	while (now != LIVE_FILTER_MOST &&
		!atomic_compare_exchange_weak_explicit(
			f, &now, (uint8_t)(now + by), memory_order_relaxed, memory_order_relaxed))
		;
}

bool live_add(struct live *l, uint64_t address)
{
	_Atomic uint64_t *bucket = bucket_of(l, address);

	for (int i = 0; i < LIVE_BUCKET; i++) {
		uint64_t none = 0;

		if (atomic_load_explicit(&bucket[i], memory_order_relaxed) != 0 ||
			!atomic_compare_exchange_strong(&bucket[i], &none, address))
			continue;
		filter_change(filter_of(l, address), 1);
		return true;
	}
	return false;
}

bool live_remove(struct live *l, uint64_t address)
{
	_Atomic uint64_t *bucket = bucket_of(l, address);

	for (int i = 0; i < LIVE_BUCKET; i++)
		if (atomic_load_explicit(&bucket[i], memory_order_relaxed) == address) {
			atomic_store_explicit(&bucket[i], 0, memory_order_release);
			filter_change(filter_of(l, address), -1);
			return true;
		}
	return false;
}
