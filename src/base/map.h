/* SPDX-License-Identifier: MIT
 *
 * Hash map from uint64_t to uint64_t: pids, addresses, ids. Open addressing, no tombstones left
 * behind by map_remove. Iteration order is unspecified.
 *
 *	struct map m = MAP_INIT;
 *	map_put(&m, pid, index);
 *	if (map_find(&m, pid, &index)) ...
 *	for (size_t i = 0; map_next(&m, &i, &key, &value);) ...
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot;

struct map {
	struct map_slot *slots; /* owned */
	size_t n;               /* keys present */
	size_t n_slots;         /* power of two, or 0 */
};

#define MAP_INIT ((struct map){ 0 })

void map_put(struct map *m, uint64_t key, uint64_t value); /* adds or replaces */
bool map_find(const struct map *m, uint64_t key, uint64_t *ret_value);
bool map_remove(struct map *m, uint64_t key); /* false when it was not there */
/* *i starts at 0; the map must not change during the loop. */
bool map_next(const struct map *m, size_t *i, uint64_t *ret_key, uint64_t *ret_value);
void map_clear(struct map *m);
void map_done(struct map *m);

#endif
