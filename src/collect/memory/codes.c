/* SPDX-License-Identifier: MIT
 * See codes.h. */
#include "collect/memory/codes.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "collect/memory/records.h"
#include "base/banned.h"

enum { CODE_BYTES_MOST = MEMORY_PIECES * (MEMORY_PIECE_BYTES + 4096) };

static bool load(struct memory_codes *c, uint32_t place)
{
	struct memory_code head;
	uint64_t at;

	if (c->place == place + 1)
		return true;
	c->place = 0;
	buf_clear(&c->bytes);
	if (place >= MEMORY_CODES ||
		!c->read(c->process,
			offsetof(struct memory_area, codes) + place * sizeof(struct memory_place) +
				offsetof(struct memory_place, at),
			&at, sizeof at) ||
		at < sizeof(struct memory_area) || !c->read(c->process, at, &head, sizeof head) ||
		head.n_bytes > CODE_BYTES_MOST || !memory_check_code(&head, head.n_bytes))
		return false;
	buf_add(&c->bytes, &head, sizeof head);
	if (!c->read(c->process, at + sizeof head, buf_reserve(&c->bytes, head.n_bytes),
		    head.n_bytes))
		return false;
	buf_advance(&c->bytes, head.n_bytes);
	c->place = place + 1;
	return true;
}

static int take(
	const struct memory_codes *c, uint64_t from, uint64_t have, uint64_t at, void *to, size_t n)
{
	if (at > have || n > have - at)
		return -EFAULT;
	memcpy(to, c->bytes.data + sizeof(struct memory_code) + from + at, n);
	return 0;
}

/* Addresses from the base on are of the objects; others of the pieces of the one that was asked for last. */
static int read_code(void *ctx, uint64_t address, void *to, size_t n)
{
	struct memory_codes *c = ctx;
	struct memory_code head;
	uint64_t from;
	uint64_t place = address < MEMORY_CODE_BASE
		? 0
		: (address - MEMORY_CODE_BASE) >> MEMORY_CODE_SPAN_LOG2;

	if (place && place <= MEMORY_CODES && !load(c, (uint32_t)place - 1))
		return -EFAULT;
	if (!c->place)
		return -EFAULT;
	memcpy(&head, c->bytes.data, sizeof head);
	if (place == c->place)
		return take(
			c, 0, head.n_head, address & ((1u << MEMORY_CODE_SPAN_LOG2) - 1), to, n);
	from = head.n_head;
	for (int i = 0; i < MEMORY_PIECES; i++) {
		if (head.pieces[i].n_bytes && address >= head.pieces[i].address &&
			address - head.pieces[i].address < head.pieces[i].n_bytes)
			return take(c, from, head.pieces[i].n_bytes,
				address - head.pieces[i].address, to, n);
		from += ((uint64_t)head.pieces[i].n_bytes + 7) & ~(uint64_t)7;
	}
	return -EFAULT;
}

static ssize_t read_codes(void *ctx, const struct iovec *to, const struct iovec *from, size_t n)
{
	ssize_t all = 0;

	for (size_t i = 0; i < n; i++) {
		if (read_code(ctx, (uint64_t)(uintptr_t)from[i].iov_base, to[i].iov_base,
			    to[i].iov_len) < 0)
			return all ? all : -EFAULT;
		all += (ssize_t)to[i].iov_len;
	}
	return all;
}

struct mem memory_codes_mem(struct memory_codes *c)
{
	return (struct mem){ .read = read_code, .readv = read_codes, .ctx = c };
}

void memory_codes_done(struct memory_codes *c)
{
	buf_done(&c->bytes);
}
