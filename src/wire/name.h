/* SPDX-License-Identifier: MIT
 *
 * How long a program's names are in a recording. A function may be called anything, a megabyte of letters included; what is
 * longer than NAME_CHARS_MOST characters (a file's name: NAME_PATH_MOST) is cut where it is read: its first characters,
 * then "…" and eight hex digits of a hash of its length and both its ends, so that two that begin alike stay two.
 *
 * Agents, the sampler and the writer of recordings each have the characters in another shape; the rule is here. */
#ifndef WIRE_NAME_H
#define WIRE_NAME_H

#include <stdint.h>

enum {
	NAME_CHARS_MOST = 500,
	NAME_PATH_MOST = 4096,
	NAME_MARK_CHARS = 9,  /* of "…0123abcd" */
	NAME_MARK_BYTES = 11, /* the same in UTF-8 */
	NAME_ENDS = 4096,     /* characters at each end that the hash is of */
};

static inline uint64_t name_hash_begin(uint64_t n_chars)
{
	return 0xcbf29ce484222325u ^ n_chars * 0x9e3779b97f4a7c15u;
}

static inline uint64_t name_hash_add(uint64_t h, uint32_t c)
{
	return (h ^ c) * 0x100000001b3u;
}

static inline void name_mark(uint64_t h, char to[NAME_MARK_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	uint32_t folded = (uint32_t)(h ^ h >> 32);

	to[0] = '\xe2';
	to[1] = '\x80';
	to[2] = '\xa6';
	for (int i = 0; i < 8; i++)
		to[3 + i] = digits[folded >> (28 - 4 * i) & 15];
}

#endif
