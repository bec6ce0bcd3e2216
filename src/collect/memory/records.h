/* SPDX-License-Identifier: MIT
 *
 * Records of the preloaded library (wire/memory_area.h) as they come out of a ring: bytes of a target, which may be anything. What these
 * functions accept is consistent in itself; whether it is true nobody knows. */
#ifndef COLLECT_MEMORY_RECORDS_H
#define COLLECT_MEMORY_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/memory_area.h"

struct memory_taken { /* an allocation */
	struct memory_alloc head;
	const struct memory_frame *frames; /* borrowed: in the record; leaf first */
	char name[MEMORY_NAME_BYTES];      /* of a thread without Python; printable */
};

/* False: it makes no sense. `data` is 8-aligned. */
bool memory_parse_alloc(const void *data, size_t n_bytes, struct memory_taken *ret);
bool memory_parse_free(const void *data, size_t n_bytes, struct memory_free *ret);

/* A code object as the library told it, checked: pieces lie one after the other within n_bytes. */
bool memory_check_code(const struct memory_code *c, size_t n_bytes);

/* Allocations that a sampled one of that size stands for: 1 ÷ the chance that it was taken. */
double memory_weight(uint64_t size_bytes, uint64_t period_bytes);

const char *memory_domain_name(enum memory_domain domain);

#endif
