/* SPDX-License-Identifier: MIT
 * See map.h. Linear probing, at most 3/4 full; removal shifts later entries back. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct map_slot {
	uint64_t key, value;
	bool used;
};

static struct map_slot *slot_for(const struct map *m, uint64_t key)
{
	size_t at = hash_place(key) & (m->n_slots - 1);

	while (m->slots[at].used && m->slots[at].key != key)
		at = (at + 1) & (m->n_slots - 1);
	return &m->slots[at];
}

static void grow(struct map *m)
{
	struct map old = *m;

	m->n_slots = old.n_slots ? old.n_slots * 2 : 16;
	m->slots = xcalloc(m->n_slots, sizeof *m->slots);
	for (size_t i = 0; i < old.n_slots; i++)
		if (old.slots[i].used)
			*slot_for(m, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

void map_put(struct map *m, uint64_t key, uint64_t value)
{
	struct map_slot *s;

	if ((m->n + 1) * 4 > m->n_slots * 3)
		grow(m);
	s = slot_for(m, key);
	m->n += !s->used;
	*s = (struct map_slot){ .key = key, .value = value, .used = true };
}

bool map_find(const struct map *m, uint64_t key, uint64_t *ret_value)
{
	const struct map_slot *s;

	if (m->n == 0)
		return false;
	s = slot_for(m, key);
	if (!s->used)
		return false;
	*ret_value = s->value;
	return true;
}

bool map_remove(struct map *m, uint64_t key)
{
	size_t mask = m->n_slots - 1, gap, at;

	if (m->n == 0 || !slot_for(m, key)->used)
		return false;
	gap = (size_t)(slot_for(m, key) - m->slots);
	for (at = (gap + 1) & mask; m->slots[at].used; at = (at + 1) & mask) {
		size_t home = hash_place(m->slots[at].key) & mask;

		if (((at - home) & mask) < ((at - gap) & mask))
			continue; /* the gap lies before its home: it must stay */
		m->slots[gap] = m->slots[at];
		gap = at;
	}
	m->slots[gap].used = false;
	m->n--;
	return true;
}

bool map_next(const struct map *m, size_t *i, uint64_t *ret_key, uint64_t *ret_value)
{
	for (; *i < m->n_slots; (*i)++) {
		const struct map_slot *s = &m->slots[*i];

		if (!s->used)
			continue;
		*ret_key = s->key;
		*ret_value = s->value;
		(*i)++;
		return true;
	}
	return false;
}

void map_clear(struct map *m)
{
	m->n = 0;
	if (m->slots)
		memset(m->slots, 0, m->n_slots * sizeof *m->slots);
}

void map_done(struct map *m)
{
	free(m->slots);
	*m = MAP_INIT;
}
