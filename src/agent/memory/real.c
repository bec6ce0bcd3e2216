/* SPDX-License-Identifier: MIT
 * See real.h. Everything named here may be missing: before glibc 2.34 dlsym is in a library of its own, and other C libraries have
 * no __libc_malloc. */
#include "agent/memory/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1)
#endif

struct real real;
_Alignas(64) unsigned char real_arena[REAL_ARENA_BYTES];

static _Atomic uint32_t arena_used;
static _Thread_local bool is_finding __attribute__((tls_model("initial-exec")));

#pragma GCC visibility push(default)
extern __typeof__(dlsym) dlsym __attribute__((weak));
extern void *__libc_malloc(size_t) __attribute__((weak));
extern void *__libc_calloc(size_t, size_t) __attribute__((weak));
extern void *__libc_realloc(void *, size_t) __attribute__((weak));
extern void __libc_free(void *) __attribute__((weak));
extern void *__libc_memalign(size_t, size_t) __attribute__((weak));
#pragma GCC visibility pop

static void *next(const char *name)
{
	return dlsym ? dlsym(RTLD_NEXT, name) : NULL;
}

void *real_symbol(const char *name)
{
	return dlsym ? dlsym(RTLD_DEFAULT, name) : NULL;
}

void *real_early(size_t n_bytes, size_t alignment)
{
	uint32_t at, from;

	if (!is_finding || n_bytes > REAL_ARENA_BYTES || alignment > 64)
		return NULL;
	n_bytes = (n_bytes + 63) & ~(size_t)63; /* every block is aligned for anything */
	at = atomic_fetch_add(&arena_used, (uint32_t)n_bytes);
	from = at + (uint32_t)n_bytes;
	return from <= REAL_ARENA_BYTES ? real_arena + at : NULL;
}

/* ---- where there is nothing to call ---------------------------------------------------------- */

static int posix_memalign_by_memalign(void **ret, size_t alignment, size_t n)
{
	void *p = real.memalign ? real.memalign(alignment, n) : NULL;

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

static void *memalign_none(size_t alignment, size_t n)
{
	(void)alignment;
	(void)n;
	errno = ENOMEM;
	return NULL;
}

static void *valloc_by_memalign(size_t n)
{
	return real.memalign(4096, n);
}

static void *pvalloc_by_memalign(size_t n)
{
	return real.memalign(4096, (n + 4095) & ~(size_t)4095);
}

static void *mmap_by_kernel(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}

static int munmap_by_kernel(void *at, size_t n)
{
	return (int)syscall(SYS_munmap, at, n);
}

static void *mremap_by_kernel(void *at, size_t n_old, size_t n_new, int flags, void *to)
{
	return (void *)syscall(SYS_mremap, at, n_old, n_new, flags, to);
}

/* Pointers to functions and data have one size here, as POSIX wants it for dlsym. */
#define TAKE(to, name, instead)                           \
	do {                                              \
		void *found_ = next(name);                \
		if (found_)                               \
			*(void **)(void *)&(to) = found_; \
		else                                      \
			(to) = (instead);                 \
	} while (0)

void real_find(void)
{
	struct real r = { 0 };

	if (is_finding)
		return;
	is_finding = true;
	TAKE(r.calloc, "calloc", __libc_calloc);
	TAKE(r.realloc, "realloc", __libc_realloc);
	TAKE(r.free, "free", __libc_free);
	TAKE(r.memalign, "memalign", __libc_memalign ? __libc_memalign : memalign_none);
	TAKE(r.posix_memalign, "posix_memalign", posix_memalign_by_memalign);
	TAKE(r.aligned_alloc, "aligned_alloc", r.memalign);
	TAKE(r.valloc, "valloc", valloc_by_memalign);
	TAKE(r.pvalloc, "pvalloc", pvalloc_by_memalign);
	TAKE(r.mmap, "mmap", mmap_by_kernel);
	TAKE(r.munmap, "munmap", munmap_by_kernel);
	TAKE(r.mremap, "mremap", mremap_by_kernel);
	TAKE(r.malloc, "malloc", __libc_malloc);
	real.calloc = r.calloc;
	real.realloc = r.realloc;
	real.free = r.free;
	real.memalign = r.memalign;
	real.posix_memalign = r.posix_memalign;
	real.aligned_alloc = r.aligned_alloc;
	real.valloc = r.valloc;
	real.pvalloc = r.pvalloc;
	real.mmap = r.mmap;
	real.munmap = r.munmap;
	real.mremap = r.mremap;
	/* Last: the hooks look at this one. */
	atomic_signal_fence(memory_order_seq_cst);
	real.malloc = r.malloc;
	is_finding = false;
}
