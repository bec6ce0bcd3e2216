/* SPDX-License-Identifier: MIT
 *
 * Interning: equal byte strings get equal small numbers, 0, 1, 2 … in order of first appearance.
 * The table owns copies; what intern_get returns lives until intern_done. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

struct intern_item {
	const void *p; /* followed by a NUL that does not count */
	size_t n;      /* bytes */
	uint64_t hash;
};

struct intern_slot {
	uint32_t id;  /* + 1; 0: free */
	uint32_t tag; /* of the hash: others are passed by without a look at their items */
};

struct intern {
	struct arena arena;
	VEC(struct intern_item) items; /* index = id */
	struct intern_slot *slots;     /* owned */
	size_t n_slots;                /* power of two, or 0 */
};

#define INTERN_INIT ((struct intern){ 0 })

/* The id of the bytes; *ret_added (may be NULL) says whether they are new. */
uint32_t intern_add(struct intern *t, const void *p, size_t n, bool *ret_added);
uint32_t intern_adds(struct intern *t, const char *s);
/* The id of bytes that may not be there. */
bool intern_find(const struct intern *t, const void *p, size_t n, uint32_t *ret);
const struct intern_item *intern_get(const struct intern *t, uint32_t id); /* id must exist */
void intern_clear(struct intern *t);
void intern_done(struct intern *t);

#endif
