/* SPDX-License-Identifier: MIT
 *
 * Somebody's memory, read only: a live process (sys/remote.h), a core file, an image in a test. All
 * of cpython/ reads through it and believes nothing of what it gets: addresses come from the target.
 */
#ifndef CPYTHON_MEM_H
#define CPYTHON_MEM_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

struct mem {
	/* Copies all n bytes: 0, or -errno (EFAULT: not all of it is there; ESRCH: the process is
	 * gone; EPERM) with anything in `to`. */
	int (*read)(void *ctx, uint64_t address, void *to, size_t n);
	/* Copies from[i] to to[i], of equal lengths, in this order and at nearly one instant, until
	 * one cannot be read. The bytes copied, or -errno when it is none. n ≤ MEM_VECTOR_MAX. */
	ssize_t (*readv)(void *ctx, const struct iovec *to, const struct iovec *from, size_t n);
	void *ctx; /* borrowed */
};

enum { MEM_VECTOR_MAX = 1024 }; /* the kernel's IOV_MAX */

static inline int mem_read(const struct mem *m, uint64_t address, void *to, size_t n)
{
	return m->read(m->ctx, address, to, n);
}

static inline int mem_read_u64(const struct mem *m, uint64_t address, uint64_t *ret)
{
	return m->read(m->ctx, address, ret, sizeof *ret);
}

static inline int mem_read_u32(const struct mem *m, uint64_t address, uint32_t *ret)
{
	return m->read(m->ctx, address, ret, sizeof *ret);
}

static inline ssize_t mem_readv(
	const struct mem *m, const struct iovec *to, const struct iovec *from, size_t n)
{
	return m->readv(m->ctx, to, from, n);
}

/* Of bytes that were copied, at any alignment. */
static inline uint64_t u64_at(const unsigned char *p, uint32_t offset)
{
	uint64_t v;

	memcpy(&v, p + offset, sizeof v);
	return v;
}

static inline int32_t i32_at(const unsigned char *p, uint32_t offset)
{
	int32_t v;

	memcpy(&v, p + offset, sizeof v);
	return v;
}

#endif
