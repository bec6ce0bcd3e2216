/* SPDX-License-Identifier: MIT
 *
 * The functions that the hooks stand before: whatever the program would have called without them, its own preloaded allocator included.
 * They are looked up at the first call. dlsym may itself allocate meanwhile: that comes from a small arena, and its blocks are never
 * given back. */
#ifndef AGENT_MEMORY_REAL_H
#define AGENT_MEMORY_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct real {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, void *);
};

#pragma GCC visibility push(hidden)

extern struct real real;

enum { REAL_ARENA_BYTES = 16 << 10 };
extern unsigned char real_arena[REAL_ARENA_BYTES];

/* Fills `real`; every function in it can be called afterwards. */
void real_find(void);
/* A symbol of the program, or NULL; also where there is no dlsym. */
void *real_symbol(const char *name);
/* Memory while real_find is under way in this thread; NULL otherwise, or when the arena is used up. Zeroed. */
void *real_early(size_t n_bytes, size_t alignment);

static inline bool real_is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)real_arena < REAL_ARENA_BYTES;
}

#pragma GCC visibility pop

#endif
