/* SPDX-License-Identifier: MIT
 *
 * The functions that programs call in the place of the C library's, by its names. Each calls the real one and tells memory.h; nothing else
 * happens here. Memory from before the real ones were found is in real.h's arena. */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/memory/memory.h"
#include "agent/memory/python.h"
#include "agent/memory/real.h"

#define HOOK __attribute__((visibility("default")))

/* Whether the real functions are there; the first call finds them. */
static inline bool is_ready(void)
{
	if (unlikely(!real.malloc))
		real_find();
	return likely(real.malloc != NULL);
}

static void *none(void)
{
	errno = ENOMEM;
	return NULL;
}

/* In a hook. */
static inline void took(void *p, size_t n)
{
	memory_took(p, n, MEMORY_MALLOC);
	if (unlikely(!pymem_is_settled))
		pymem_settle();
}

HOOK void *malloc(size_t n)
{
	void *p;

	if (unlikely(!is_ready()))
		return (p = real_early(n, 16)) ? p : none();
	if (!memory_enter())
		return real.malloc(n);
	p = real.malloc(n);
	took(p, n);
	memory_leave();
	return p;
}

HOOK void *calloc(size_t n_items, size_t n)
{
	void *p;

	if (unlikely(!is_ready()))
		return n && n_items <= REAL_ARENA_BYTES / n && (p = real_early(n_items * n, 16))
			? p
			: none();
	if (!memory_enter())
		return real.calloc(n_items, n);
	p = real.calloc(n_items, n);
	took(p, n_items * n);
	memory_leave();
	return p;
}

/* Out of the arena, whose blocks do not tell their size: as much as can be there. */
static void *move_early(const void *old, size_t n)
{
	size_t most = (size_t)(real_arena + REAL_ARENA_BYTES - (const unsigned char *)old);
	void *p = malloc(n);

	if (p)
		memcpy(p, old, n < most ? n : most);
	return p;
}

/* A release of the old block and an allocation of the new one, unless it fails. */
static void *resize(void *old, size_t n)
{
	bool was_sampled;
	uint64_t t_ns = 0;
	void *p;

	if (!memory_enter())
		return real.realloc(old, n);
	was_sampled = old && memory_may_be_sampled(old) && memory_forget(old, &t_ns);
	p = real.realloc(old, n);
	if (was_sampled && (p || n == 0))
		memory_tell_release(old, t_ns);
	else if (was_sampled)
		memory_keep(old);
	took(p, n);
	memory_leave();
	return p;
}

HOOK void *realloc(void *old, size_t n)
{
	void *p;

	if (unlikely(!is_ready()))
		return (p = real_early(n, 16)) ? p : none();
	return unlikely(old && real_is_early(old)) ? move_early(old, n) : resize(old, n);
}

HOOK void *reallocarray(void *old, size_t n_items, size_t n)
{
	size_t all;

	return __builtin_mul_overflow(n_items, n, &all) ? none() : realloc(old, all);
}

HOOK void free(void *p)
{
	if (unlikely(real_is_early(p)) || unlikely(!is_ready()))
		return;
	memory_releases(p);
	real.free(p);
}

HOOK int posix_memalign(void **ret, size_t alignment, size_t n)
{
	int failed;

	if (unlikely(!is_ready()))
		return ENOMEM;
	if (!memory_enter())
		return real.posix_memalign(ret, alignment, n);
	failed = real.posix_memalign(ret, alignment, n);
	if (!failed)
		memory_took(*ret, n, MEMORY_MALLOC);
	memory_leave();
	return failed;
}

/* clang-format off */
#define ALIGNED(name)                                           \
	HOOK void *name(size_t alignment, size_t n)             \
	{                                                       \
		void *p;                                        \
                                                                \
		if (unlikely(!is_ready()))                      \
			return none();                          \
		if (!memory_enter())                            \
			return real.name(alignment, n);         \
		p = real.name(alignment, n);                    \
		memory_took(p, n, MEMORY_MALLOC);               \
		memory_leave();                                 \
		return p;                                       \
	}
#define PAGED(name)                                             \
	HOOK void *name(size_t n)                               \
	{                                                       \
		void *p;                                        \
                                                                \
		if (unlikely(!is_ready()))                      \
			return none();                          \
		if (!memory_enter())                            \
			return real.name(n);                    \
		p = real.name(n);                               \
		memory_took(p, n, MEMORY_MALLOC);               \
		memory_leave();                                 \
		return p;                                       \
	}
/* clang-format on */

ALIGNED(aligned_alloc)
ALIGNED(memalign)
PAGED(valloc)
PAGED(pvalloc)

/* ---- mappings -------------------------------------------------------------------------------- */

/* What can be used and is nobody else's: neither files nor reserved addresses. */
static bool is_memory(int protection, int flags)
{
	return protection != PROT_NONE && flags & MAP_ANONYMOUS &&
		!(flags & (MAP_SHARED | MAP_NORESERVE));
}

/* By another name in C: headers make one function of mmap and mmap64. */
static void *map(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	void *p;

	if (unlikely(!is_ready()))
		return none(), MAP_FAILED;
	if (!memory_enter())
		return real.mmap(at, n, protection, flags, fd, offset);
	p = real.mmap(at, n, protection, flags, fd, offset);
	memory_leave();
	if (p == MAP_FAILED)
		return p;
	if (flags & MAP_FIXED)
		memory_unmapped(p, n); /* what was there */
	if (is_memory(protection, flags) && memory_enter()) {
		memory_took(p, n, MEMORY_MMAP);
		memory_leave();
	}
	return p;
}

HOOK void *map_exported(void *, size_t, int, int, int, off_t) __asm__("mmap");
HOOK void *map64_exported(void *, size_t, int, int, int, off_t) __asm__("mmap64");

void *map_exported(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	return map(at, n, protection, flags, fd, offset);
}

void *map64_exported(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	return map(at, n, protection, flags, fd, offset);
}

HOOK int munmap(void *p, size_t n)
{
	if (unlikely(!is_ready()))
		return errno = EINVAL, -1;
	memory_unmapped(p, n);
	return real.munmap(p, n);
}

/* Only of what was sampled is it known that it is no file: that is released and allocated anew. */
HOOK void *mremap(void *old, size_t n_old, size_t n, int flags, ...)
{
	va_list args;
	void *to, *p;

	va_start(args, flags);
	to = flags & MREMAP_FIXED ? va_arg(args, void *) : NULL;
	va_end(args);
	if (unlikely(!is_ready()))
		return none(), MAP_FAILED;
	p = real.mremap(old, n_old, n, flags, to);
	if (p != MAP_FAILED && memory_remapped(old, n_old) && memory_enter()) {
		memory_took(p, n, MEMORY_MMAP);
		memory_leave();
	}
	return p;
}
