/* SPDX-License-Identifier: MIT
 * See trie.h. */
#include "base/trie.h"

#include "base/banned.h"

enum { FEW = 8 }; /* children that are looked through */

void trie_init(struct trie *t)
{
	*t = (struct trie){ .many = MAP_INIT };
	vec_push(&t->v, (struct trie_node){ 0 });
}

void trie_done(struct trie *t)
{
	vec_done(&t->v);
	map_done(&t->many);
}

static uint64_t hash_key(uint32_t parent, uint32_t key)
{
	return (uint64_t)parent << 32 | key;
}

uint32_t trie_find(struct trie *t, uint32_t parent, uint32_t key)
{
	struct trie_node *v = t->v.v;
	uint32_t before = 0, at = v[parent].child;
	uint64_t found;

	for (unsigned n = 0; at && v[at].key != key && n < FEW; n++) {
		before = at;
		at = v[at].next;
	}
	if (!at)
		return 0;
	if (v[at].key != key)
		return map_find(&t->many, hash_key(parent, key), &found) ? (uint32_t)found : 0;
	if (before) { /* to the front */
		v[before].next = v[at].next;
		v[at].next = v[parent].child;
		v[parent].child = at;
	}
	return at;
}

uint32_t trie_add(struct trie *t, uint32_t parent, uint32_t key)
{
	uint32_t node = (uint32_t)t->v.n, n = 0, at;

	vec_push(&t->v, (struct trie_node){ .key = key, .next = t->v.v[parent].child });
	t->v.v[parent].child = node;
	for (at = t->v.v[node].next; at && n < FEW; n++)
		at = t->v.v[at].next;
	if (n == FEW)
		map_put(&t->many, hash_key(parent, key), node);
	if (n == FEW && !at) /* the first that is one too many: from now on all are found by hash */
		for (at = t->v.v[node].next; at; at = t->v.v[at].next)
			map_put(&t->many, hash_key(parent, t->v.v[at].key), at);
	return node;
}
