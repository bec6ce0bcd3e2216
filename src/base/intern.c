/* SPDX-License-Identifier: MIT
 * See intern.h. */
#include "base/intern.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/banned.h"

static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32); /* the lower bits choose the slot */
}

static struct intern_slot *slot_for(const struct intern *t, const void *p, size_t n, uint64_t hash)
{
	size_t at = hash & (t->n_slots - 1);

	for (; t->slots[at].id; at = (at + 1) & (t->n_slots - 1)) {
		const struct intern_item *item;

		if (t->slots[at].tag != tag_of(hash))
			continue;
		item = &t->items.v[t->slots[at].id - 1];
		if (item->hash == hash && item->n == n &&
			(hash_is_exact(n) || memcmp(item->p, p, n) == 0))
			break;
	}
	return &t->slots[at];
}

static void grow(struct intern *t)
{
	free(t->slots);
	t->n_slots = t->n_slots ? t->n_slots * 2 : 64;
	t->slots = xcalloc(t->n_slots, sizeof *t->slots);
	for (size_t i = 0; i < t->items.n; i++) {
		size_t at = t->items.v[i].hash & (t->n_slots - 1);

		while (t->slots[at].id)
			at = (at + 1) & (t->n_slots - 1);
		t->slots[at] = (struct intern_slot){ (uint32_t)i + 1, tag_of(t->items.v[i].hash) };
	}
}

uint32_t intern_add(struct intern *t, const void *p, size_t n, bool *ret_added)
{
	uint64_t hash = hash_place_bytes(p, n);
	struct intern_slot *slot;

	if ((t->items.n + 1) * 2 > t->n_slots)
		grow(t);
	slot = slot_for(t, p, n, hash);
	if (ret_added)
		*ret_added = slot->id == 0;
	if (slot->id == 0) {
		vec_push(&t->items,
			(struct intern_item){
				.p = arena_strndup(&t->arena, p, n), .n = n, .hash = hash });
		*slot = (struct intern_slot){ (uint32_t)t->items.n, tag_of(hash) };
	}
	return slot->id - 1;
}

bool intern_find(const struct intern *t, const void *p, size_t n, uint32_t *ret)
{
	const struct intern_slot *slot =
		t->n_slots ? slot_for(t, p, n, hash_place_bytes(p, n)) : NULL;

	if (!slot || !slot->id)
		return false;
	*ret = slot->id - 1;
	return true;
}

uint32_t intern_adds(struct intern *t, const char *s)
{
	return intern_add(t, s, strlen(s), NULL);
}

const struct intern_item *intern_get(const struct intern *t, uint32_t id)
{
	assert(id < t->items.n);
	return &t->items.v[id];
}

void intern_clear(struct intern *t)
{
	arena_done(&t->arena);
	vec_clear(&t->items);
	if (t->slots)
		memset(t->slots, 0, t->n_slots * sizeof *t->slots);
}

void intern_done(struct intern *t)
{
	arena_done(&t->arena);
	vec_done(&t->items);
	free(t->slots);
	*t = INTERN_INIT;
}
