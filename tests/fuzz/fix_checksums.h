/* SPDX-License-Identifier: MIT
 * Checksums made right again after a recording's bytes were changed, for fuzz targets: what lies behind them is reached, too. */
#ifndef FUZZ_FIX_CHECKSUMS_H
#define FUZZ_FIX_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <xxhash.h>

#include "store/container.h"

static inline void fix_chunk(uint8_t *at, size_t room)
{
	struct chunk_head h;

	memcpy(&h, at, sizeof h);
	if (h.stored_bytes <= room - sizeof h)
		h.payload_checksum = XXH3_64bits(at + sizeof h, h.stored_bytes);
	h.head_checksum = (uint32_t)XXH3_64bits(&h, offsetof(struct chunk_head, head_checksum));
	memcpy(at, &h, sizeof h);
}

static inline void fix_checksums(uint8_t *bytes, size_t n)
{
	static const uint32_t magic = CHUNK_MAGIC;
	struct file_head head;
	struct trailer end;

	if (n >= sizeof head) {
		memcpy(&head, bytes, sizeof head);
		head.checksum = XXH3_64bits(&head, offsetof(struct file_head, checksum));
		memcpy(bytes, &head, sizeof head);
	}
	for (size_t at = 0; at + sizeof(struct chunk_head) <= n; at += 8)
		if (memcmp(bytes + at, &magic, sizeof magic) == 0)
			fix_chunk(bytes + at, n - at);
	if (n >= sizeof end) {
		memcpy(&end, bytes + n - sizeof end, sizeof end);
		end.checksum = XXH3_64bits(&end, offsetof(struct trailer, checksum));
		if (memcmp(end.magic, TRAILER_MAGIC, sizeof end.magic) == 0)
			memcpy(bytes + n - sizeof end, &end, sizeof end);
	}
}

#endif
