/* SPDX-License-Identifier: MIT
 *
 * Trie: a tree whose nodes are known by their parent and a number, 0 being the root: stacks, calling contexts. Twelve bytes a
 * node. Children lie in a list, the one last asked for first, since programs come back to where they were; where there are
 * many, they are found by hash.
 *
 *	struct trie t;
 *	trie_init(&t);
 *	child = trie_find(&t, parent, key);
 *	if (!child)
 *		child = trie_add(&t, parent, key);     1, 2, 3 …
 *	trie_done(&t);
 */
#ifndef BASE_TRIE_H
#define BASE_TRIE_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct trie_node {
	uint32_t key;
	uint32_t child, next; /* the first child, the next sibling; 0: none */
};

struct trie {
	VEC(struct trie_node) v; /* parents before their children */
	struct map many;         /* parent << 32 | key → node, of parents with many children */
};

void trie_init(struct trie *t);
void trie_done(struct trie *t);

uint32_t trie_find(struct trie *t, uint32_t parent, uint32_t key); /* 0: there is none */
/* What is there already must not be added. */
uint32_t trie_add(struct trie *t, uint32_t parent, uint32_t key);

#endif
