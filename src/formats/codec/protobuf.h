/* SPDX-License-Identifier: MIT
 *
 * Protocol buffers by hand: what pprof and Perfetto files are made of. Writing appends to a buffer; a message
 * inside another is made in a buffer of its own and added as bytes. Reading walks the fields of a message
 * that lies in memory; every length is checked.
 *
 *	struct pb at = pb_begin(p, n);
 *	for (struct pb_field f; pb_next(&at, &f);)
 *		if (f.number == 2 && f.type == PB_BYTES) …
 *	if (at.is_bad) …
 */
#ifndef FORMATS_CODEC_PROTOBUF_H
#define FORMATS_CODEC_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum pb_type { PB_VARINT, PB_FIXED64, PB_BYTES, PB_FIXED32 = 5 };

void pb_put_varint(struct buf *out, uint64_t value);
void pb_put_u64(struct buf *out, unsigned field, uint64_t value);
void pb_put_bytes(struct buf *out, unsigned field, const void *p, size_t n);
/* Bytes that are not UTF-8 become U+FFFD: readers refuse a file over them. */
void pb_put_text(struct buf *out, unsigned field, const char *s, size_t n);

struct pb {
	const unsigned char *at, *end;
	bool is_bad; /* it ended in the middle of a field, or of a kind that is not known */
};

struct pb_field {
	uint32_t number;
	enum pb_type type;
	uint64_t value;         /* of all but BYTES */
	const unsigned char *p; /* BYTES: borrowed */
	size_t n;
};

struct pb pb_begin(const void *p, size_t n);
bool pb_next(struct pb *m, struct pb_field *ret);
/* The next of the varints a packed field is made of. */
bool pb_next_varint(struct pb *m, uint64_t *ret);

#endif
