/* SPDX-License-Identifier: MIT
 * See arena.h. Blocks grow from 512 bytes to 1 MiB; a larger request gets a block of its own. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/banned.h"

struct arena_block {
	struct arena_block *next;
	size_t used, size; /* of data, bytes */
	alignas(max_align_t) char data[];
};

enum { FIRST_BLOCK = 512, LAST_BLOCK = 1 << 20 };

static struct arena_block *add_block(struct arena *a, size_t n_bytes)
{
	size_t size = a->blocks ? a->blocks->size * 2 : FIRST_BLOCK;
	struct arena_block *b;

	if (size > LAST_BLOCK)
		size = LAST_BLOCK;
	if (size < n_bytes)
		size = n_bytes;
	b = xcalloc(1, sizeof *b + size);
	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

void *arena_alloc(struct arena *a, size_t n_bytes)
{
	const size_t align = alignof(max_align_t);
	struct arena_block *b = a->blocks;
	void *p;

	n_bytes = (n_bytes + align - 1) & ~(align - 1);
	if (!b || b->size - b->used < n_bytes)
		b = add_block(a, n_bytes);
	p = b->data + b->used;
	b->used += n_bytes;
	a->used_bytes += n_bytes;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t item_bytes)
{
	size_t total;

	if (__builtin_mul_overflow(n, item_bytes, &total))
		total = (size_t)-1 / 2; /* fails in xcalloc with a message */
	return arena_alloc(a, total);
}

void *arena_copy(struct arena *a, const void *p, size_t n_bytes)
{
	void *to = arena_alloc(a, n_bytes);

	if (n_bytes)
		memcpy(to, p, n_bytes);
	return to;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *to = arena_alloc(a, n + 1);

	if (n)
		memcpy(to, s, n);
	return to;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *to;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	to = arena_alloc(a, n < 0 ? 1 : (size_t)n + 1);
	if (n > 0)
		vsnprintf(to, (size_t)n + 1, fmt, again);
	va_end(again);
	return to;
}

void arena_done(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	a->used_bytes = 0;
}
