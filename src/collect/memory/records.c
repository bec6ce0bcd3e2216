/* SPDX-License-Identifier: MIT
 * See records.h. */
#include "collect/memory/records.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

bool memory_parse_alloc(const void *data, size_t n_bytes, struct memory_taken *ret)
{
	size_t n_rest;

	*ret = (struct memory_taken){ 0 };
	if (n_bytes < sizeof ret->head)
		return false;
	memcpy(&ret->head, data, sizeof ret->head);
	n_rest = n_bytes - sizeof ret->head;
	if (ret->head.domain >= MEMORY_DOMAINS || ret->head.where >= MEMORY_WHERES ||
		!ret->head.address || ret->head.n_frames > MEMORY_FRAMES_MOST ||
		ret->head.is_cut > 1)
		return false;
	if (ret->head.where == MEMORY_NO_PYTHON) {
		if (n_rest != MEMORY_NAME_BYTES)
			return false;
		memcpy(ret->name, (const char *)data + sizeof ret->head, MEMORY_NAME_BYTES - 1);
		for (char *c = ret->name; *c; c++)
			if (*c < ' ' || *c > '~')
				*c = '?';
		ret->head.n_frames = 0;
		return true;
	}
	if (ret->head.where != MEMORY_FRAMES && ret->head.n_frames)
		return false;
	ret->frames =
		(const struct memory_frame *)(const void *)((const char *)data + sizeof ret->head);
	return n_rest == ret->head.n_frames * sizeof *ret->frames;
}

bool memory_parse_free(const void *data, size_t n_bytes, struct memory_free *ret)
{
	if (n_bytes != sizeof *ret)
		return false;
	memcpy(ret, data, sizeof *ret);
	return ret->address != 0;
}

bool memory_check_code(const struct memory_code *c, size_t n_bytes)
{
	uint64_t n = c->n_head;

	if (c->n_bytes > n_bytes)
		return false;
	for (int i = 0; i < MEMORY_PIECES; i++)
		n += ((uint64_t)c->pieces[i].n_bytes + 7) & ~(uint64_t)7;
	return n == c->n_bytes;
}

double memory_weight(uint64_t size_bytes, uint64_t period_bytes)
{
	if (!period_bytes)
		return 1;
	/* Of no bytes at all nothing could be taken: it counts for itself. */
	return size_bytes ? -1 / expm1(-(double)size_bytes / (double)period_bytes) : 1;
}

const char *memory_domain_name(enum memory_domain domain)
{
	switch (domain) {
	case MEMORY_RAW:
		return "raw";
	case MEMORY_MEM:
		return "mem";
	case MEMORY_OBJECT:
		return "object";
	case MEMORY_MALLOC:
		return "malloc";
	case MEMORY_MMAP:
		return "mmap";
	case MEMORY_DOMAINS:
		break;
	}
	return "?";
}
