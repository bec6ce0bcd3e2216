/* SPDX-License-Identifier: MIT
 * Things found by a hash, and memory for them that is never given back: from the kernel, as memory.h says. Nothing is ever
 * taken out. The caller holds a lock.
 *
 *	for (uint32_t i = lookup_first(&l, hash); (x = lookup_at(&l, &i, hash));)
 *		if (is_it(x)) …
 *	lookup_add(&l, hash, pool_take(&pool, sizeof *x)); */
#ifndef AGENT_CORE_LOOKUP_H
#define AGENT_CORE_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/memory.h"

enum { LOOKUP_LOG2_FIRST = 10, POOL_PIECE_BYTES = 256 << 10 };

struct lookup_item {
	uint64_t hash;
	void *thing; /* NULL: free */
};

struct lookup {
	struct lookup_item *items; /* open addressing */
	uint32_t n, log2;
};

static inline uint64_t lookup_mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static inline uint32_t lookup_first(const struct lookup *l, uint64_t hash)
{
	return l->items ? (uint32_t)hash & ((1u << l->log2) - 1) : 0;
}

/* The next thing of that hash from *i on, which is moved past it. */
static inline void *lookup_at(const struct lookup *l, uint32_t *i, uint64_t hash)
{
	while (l->items && l->items[*i].thing) {
		const struct lookup_item *item = &l->items[*i];

		*i = (*i + 1) & ((1u << l->log2) - 1);
		if (item->hash == hash)
			return item->thing;
	}
	return NULL;
}

static inline void lookup_put(struct lookup *l, uint64_t hash, void *thing)
{
	uint32_t i = lookup_first(l, hash);

	while (l->items[i].thing)
		i = (i + 1) & ((1u << l->log2) - 1);
	l->items[i] = (struct lookup_item){ hash, thing };
	l->n++;
}

/* False: no memory, or thing is NULL. */
static inline bool lookup_add(struct lookup *l, uint64_t hash, void *thing)
{
	struct lookup larger = { .log2 = l->items ? l->log2 + 1 : LOOKUP_LOG2_FIRST };

	if (!thing)
		return false;
	if (!l->items || l->n >= (1u << l->log2) / 2) {
		larger.items = memory_map(sizeof *larger.items << larger.log2);
		if (!larger.items)
			return false;
		for (uint32_t i = 0; l->items && i < 1u << l->log2; i++)
			if (l->items[i].thing)
				lookup_put(&larger, l->items[i].hash, l->items[i].thing);
		if (l->items)
			memory_unmap(l->items, sizeof *l->items << l->log2);
		*l = larger;
	}
	lookup_put(l, hash, thing);
	return true;
}

struct pool {
	unsigned char *at;
	size_t left;
};

/* Zeroed and 8-aligned; POOL_PIECE_BYTES at most. NULL: no memory. */
static inline void *pool_take(struct pool *p, size_t n_bytes)
{
	n_bytes = (n_bytes + 7) & ~(size_t)7;
	if (n_bytes > p->left) {
		p->at = memory_map(POOL_PIECE_BYTES);
		p->left = p->at ? POOL_PIECE_BYTES : 0;
	}
	if (n_bytes > p->left)
		return NULL;
	p->at += n_bytes;
	p->left -= n_bytes;
	return p->at - n_bytes;
}

#endif
