/* SPDX-License-Identifier: MIT
 *
 * Hashing for tables in memory. Not a checksum and not stable across versions: never written to a
 * file.
 *
 * Where something stands in a table that an outsider fills (names, ids and addresses out of a file) is decided by hash_place and
 * hash_place_bytes: they differ from process to process, so nobody can choose keys that all meet in one place. hash_u64 and hash_bytes
 * are for what has to be the same in every process, such as colours. */
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

static inline uint64_t hash_bytes_from(uint64_t start, const void *p, size_t n)
{
	const unsigned char *at = p;
	uint64_t h = start ^ n, word;

	for (; n >= 8; n -= 8, at += 8) {
		memcpy(&word, at, 8);
		h = hash_u64(h ^ word);
	}
	word = 0;
	if (n)
		memcpy(&word, at, n);
	return hash_u64(h ^ word ^ (uint64_t)n << 56);
}

static inline uint64_t hash_bytes(const void *p, size_t n)
{
	return hash_bytes_from(0x9e3779b97f4a7c15u, p, n);
}

extern uint64_t hash_seed; /* drawn before main, never changed */

static inline uint64_t hash_place(uint64_t key)
{
	return hash_u64(key ^ hash_seed);
}

static inline uint64_t hash_place_bytes(const void *p, size_t n)
{
	return hash_bytes_from(hash_seed, p, n);
}

#endif
