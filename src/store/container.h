/* SPDX-License-Identifier: MIT
 *
 * The bytes of a recording around the records: file head, chunk heads, trailer. The manual of the
 * whole format is docs/FORMAT.md; the codec of the records is columns.h.
 *
 *	file head · chunk · chunk · … · index chunk(s) · trailer
 *
 * A chunk is a head, the (usually compressed) columns of up to COLUMNS_MAX_RECORDS records of one
 * kind, and padding to 8 bytes. Chunks belong to segments; row numbers of tables restart at 1 in
 * each. Index and trailer are written at the end and are optional. Everything little endian. */
#ifndef STORE_CONTAINER_H
#define STORE_CONTAINER_H

#include <stdint.h>

enum {
	STORE_MAJOR = 1,          /* readers refuse a greater one */
	STORE_MINOR = 0,          /* readers accept any */
	CHUNK_MAGIC = 0x4b43444c, /* "LDCK" */
};

#define STORE_MAGIC   "\x89LEAD\r\n\x1a" /* 8 bytes: binary, and broken by text transfers */
#define TRAILER_MAGIC "LEAD-END"

enum chunk_codec { CODEC_PLAIN, CODEC_ZSTD };

struct file_head {
	char magic[8];
	uint16_t major, minor;
	uint32_t reserved;
	uint64_t realtime_ns;  /* when it was begun */
	uint64_t monotonic_ns; /* the same instant */
	char boot_id[16];
	uint64_t checksum; /* XXH3 of the bytes before it */
};

struct chunk_head {
	uint32_t magic;
	uint16_t kind; /* enum record_kind */
	uint8_t codec;
	uint8_t reserved;
	uint32_t stored_bytes; /* of the payload as it stands in the file, without padding */
	uint32_t raw_bytes;    /* of the columns */
	uint32_t segment;
	uint32_t n_records;
	uint32_t first_row;        /* tables: row number of the first record; else 0 */
	uint32_t head_checksum;    /* low half of XXH3 of the bytes before it */
	uint64_t payload_checksum; /* XXH3 of the stored payload */
};

struct trailer {
	char magic[8];
	uint64_t index_offset; /* of the first index chunk */
	uint64_t n_index_chunks;
	uint64_t checksum; /* XXH3 of the bytes before it */
};

_Static_assert(sizeof(struct file_head) == 56, "file head");
_Static_assert(sizeof(struct chunk_head) == 40, "chunk head");
_Static_assert(sizeof(struct trailer) == 32, "trailer");

static inline uint64_t chunk_padding(uint64_t stored_bytes)
{
	return -stored_bytes & 7;
}

#endif
