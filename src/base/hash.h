/* SPDX-License-Identifier: MIT
 *
 * Hashing for tables in memory. Not a checksum and not stable across versions: never written to a
 * file. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xe9846af9b1a615d7u;
	x ^= x >> 32;
	x *= 0xe9846af9b1a615d7u;
	return x ^ x >> 28;
}

/* Strings of this length have equal hashes only when they are equal: up to 8 bytes every step of
 * hash_bytes can be undone. */
static inline bool hash_is_exact(size_t n)
{
	return n <= 8;
}

static inline uint64_t hash_bytes(const void *p, size_t n)
{
	const unsigned char *at = p;
	uint64_t h = 0x9e3779b97f4a7c15u ^ n, word;

	for (; n >= 8; n -= 8, at += 8) {
		memcpy(&word, at, 8);
		h = hash_u64(h ^ word);
	}
	word = 0;
	if (n)
		memcpy(&word, at, n);
	return hash_u64(h ^ word ^ (uint64_t)n << 56);
}

#endif
