/* SPDX-License-Identifier: MIT
 * See python.h: CPython's allocators, wrapped.
 *
 * The wrappers stand in two sets, each before originals of its own: the first is put in when the library begins, before the
 * interpreter does; the second once, when the first was found replaced (PYTHONMALLOC=debug, -X dev, tracemalloc, which may call the
 * first in turn). The context stays the original's: the interpreter copies function and context one by one, and a thread that gets
 * one of each must not fail. */
#include <stddef.h>
#include <stdint.h>

#include "agent/memory/memory.h"
#include "agent/memory/python.h"
#include "agent/memory/real.h"

enum { SETS = 2, PY_DOMAINS = 3 };

struct allocator { /* PyMemAllocatorEx, since 3.5 */
	void *ctx;
	void *(*malloc)(void *, size_t);
	void *(*calloc)(void *, size_t, size_t);
	void *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *);
};

static struct allocator originals[SETS][PY_DOMAINS];
static _Atomic int n_sets;
bool pymem_is_settled;
static void (*get_allocator)(int domain, struct allocator *);
static void (*set_allocator)(int domain, struct allocator *);

static inline void *py_malloc(const struct allocator *o, int domain, size_t n)
{
	void *p;

	if (!memory_enter())
		return o->malloc(o->ctx, n);
	p = o->malloc(o->ctx, n);
	memory_took(p, n, (enum memory_domain)domain);
	memory_leave();
	return p;
}

static inline void *py_calloc(const struct allocator *o, int domain, size_t n_items, size_t n)
{
	void *p;

	if (!memory_enter())
		return o->calloc(o->ctx, n_items, n);
	p = o->calloc(o->ctx, n_items, n);
	memory_took(p, n_items * n, (enum memory_domain)domain);
	memory_leave();
	return p;
}

static inline void *py_realloc(const struct allocator *o, int domain, void *old, size_t n)
{
	bool was_sampled;
	uint64_t t_ns = 0;
	void *p;

	if (!memory_enter())
		return o->realloc(o->ctx, old, n);
	was_sampled = old && memory_may_be_sampled(old) && memory_forget(old, &t_ns);
	p = o->realloc(o->ctx, old, n);
	if (was_sampled && p)
		memory_tell_release(old, t_ns);
	else if (was_sampled)
		memory_keep(old);
	memory_took(p, n, (enum memory_domain)domain);
	memory_leave();
	return p;
}

static inline void py_free(const struct allocator *o, void *p)
{
	memory_releases(p);
	o->free(o->ctx, p);
}

/* clang-format off */
#define WRAPPERS(set, domain)                                                              \
	static void *malloc_##set##domain(void *ctx, size_t n)                             \
	{                                                                                  \
		(void)ctx;                                                                 \
		return py_malloc(&originals[set][domain], domain, n);                      \
	}                                                                                  \
	static void *calloc_##set##domain(void *ctx, size_t n_items, size_t n)             \
	{                                                                                  \
		(void)ctx;                                                                 \
		return py_calloc(&originals[set][domain], domain, n_items, n);             \
	}                                                                                  \
	static void *realloc_##set##domain(void *ctx, void *old, size_t n)                 \
	{                                                                                  \
		(void)ctx;                                                                 \
		return py_realloc(&originals[set][domain], domain, old, n);                \
	}                                                                                  \
	static void free_##set##domain(void *ctx, void *p)                                 \
	{                                                                                  \
		(void)ctx;                                                                 \
		py_free(&originals[set][domain], p);                                       \
	}
#define ROW(set, domain)                                                                   \
	{                                                                                  \
		NULL, malloc_##set##domain, calloc_##set##domain, realloc_##set##domain,   \
			free_##set##domain                                                 \
	}
/* clang-format on */

WRAPPERS(0, 0)
WRAPPERS(0, 1)
WRAPPERS(0, 2)
WRAPPERS(1, 0)
WRAPPERS(1, 1)
WRAPPERS(1, 2)

static const struct allocator wrappers[SETS][PY_DOMAINS] = { { ROW(0, 0), ROW(0, 1), ROW(0, 2) },
	{ ROW(1, 0), ROW(1, 1), ROW(1, 2) } };

static bool is_ours(int domain)
{
	struct allocator now;

	get_allocator(domain, &now);
	return now.malloc == wrappers[0][domain].malloc || now.malloc == wrappers[1][domain].malloc;
}

static void install(int set, int domain)
{
	struct allocator ours = wrappers[set][domain];

	get_allocator(domain, &originals[set][domain]);
	ours.ctx = originals[set][domain].ctx;
	set_allocator(domain, &ours);
}

void pymem_install(void)
{
	*(void **)(void *)&get_allocator = real_symbol("PyMem_GetAllocator");
	*(void **)(void *)&set_allocator = real_symbol("PyMem_SetAllocator");
	if (!get_allocator || !set_allocator)
		return;
	for (int i = 0; i < PY_DOMAINS; i++)
		install(0, i);
	atomic_store(&n_sets, 1);
}

void pymem_settle(void)
{
	if (!python_is_attached())
		return;
	pymem_is_settled = true;
	pymem_check();
}

/* Called by the thread that holds the GIL alone: then nobody allocates objects meanwhile, and of the raw domain see above. */
void pymem_check(void)
{
	int n = atomic_load_explicit(&n_sets, memory_order_relaxed);

	if (n != 1 || !python_is_attached() || is_ours(MEMORY_OBJECT))
		return;
	if (!atomic_compare_exchange_strong(&n_sets, &n, SETS))
		return;
	for (int i = 0; i < PY_DOMAINS; i++)
		if (!is_ours(i))
			install(1, i);
}
