/* SPDX-License-Identifier: MIT
 * Memory of the agent's own, straight from the kernel: the program's allocator stays out of it, whatever
 * hooks it has. Zeroed. */
#ifndef AGENT_CORE_MEMORY_H
#define AGENT_CORE_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL when there is none. */
static inline void *memory_map(size_t n_bytes)
{
	void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline void memory_unmap(void *p, size_t n_bytes)
{
	if (p)
		munmap(p, n_bytes);
}

#endif
