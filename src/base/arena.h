/* SPDX-License-Identifier: MIT
 *
 * Arena: memory by lifetime. Everything an analysis builds lives in one arena and is freed by one
 * call; nothing in it is freed alone. Zeroed memory, aligned for any type. Not thread-safe.
 *
 *	struct arena a = ARENA_INIT;
 *	struct node *n = arena_new(&a, struct node);
 *	arena_done(&a);
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* owned, newest first */
	size_t used_bytes;          /* handed out, for accounting */
};

#define ARENA_INIT ((struct arena){ 0 })

void *arena_alloc(struct arena *a, size_t n_bytes);
void *arena_array(struct arena *a, size_t n, size_t item_bytes);
void *arena_copy(struct arena *a, const void *p, size_t n_bytes);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define arena_new(a, type)      ((type *)arena_alloc((a), sizeof(type)))
#define arena_new_n(a, type, n) ((type *)arena_array((a), (n), sizeof(type)))

/* Frees everything; the arena is empty and usable again. */
void arena_done(struct arena *a);

#endif
