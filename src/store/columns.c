/* SPDX-License-Identifier: MIT
 * See columns.h. The loops are written once per width so that the compiler keeps them tight: this
 * is where the writer's time goes. */
#include "store/columns.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/records.h"
#include "base/banned.h"

enum { VARINT_MAX = 10 };

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

static inline unsigned char *put_varint(unsigned char *to, uint64_t v)
{
	while (v >= 0x80) {
		*to++ = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	*to++ = (unsigned char)v;
	return to;
}

/* NULL when the stream ends early or the value does not fit 64 bits. */
static inline const unsigned char *get_varint(
	const unsigned char *at, const unsigned char *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint64_t byte = *at++;

		if (shift == 63 && byte > 1)
			return NULL;
		v |= (byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = v;
			return at;
		}
	}
	return NULL;
}

#define ENCODE_LOOP(type_t, expression)                \
	for (size_t i = 0; i < n; i++, at += stride) { \
		type_t value;                          \
		memcpy(&value, at, sizeof value);      \
		to = put_varint(to, (expression));     \
		before = value;                        \
	}

#define ENCODE_WIDTH(type_t)                                        \
	do {                                                        \
		if (is_delta)                                       \
			ENCODE_LOOP(type_t, zigzag(value - before)) \
		else                                                \
			ENCODE_LOOP(type_t, value)                  \
	} while (0)

static void encode_numbers(
	const struct record_column *c, const char *at, size_t stride, size_t n, struct buf *out)
{
	unsigned char *start = buf_reserve(out, n * VARINT_MAX), *to = start;
	int is_delta = c->encoding == ENCODING_DELTA || c->encoding == ENCODING_TIME;
	uint64_t before = 0;

	switch (c->type) {
	case COLUMN_u8:
		ENCODE_WIDTH(uint8_t);
		break;
	case COLUMN_u16:
		ENCODE_WIDTH(uint16_t);
		break;
	case COLUMN_u32:
		ENCODE_WIDTH(uint32_t);
		break;
	case COLUMN_u64:
		ENCODE_WIDTH(uint64_t);
		break;
	case COLUMN_f64:
		for (size_t i = 0; i < n; i++, at += stride, to += 8)
			memcpy(to, at, 8);
		break;
	case COLUMN_bytes:
		for (size_t i = 0; i < n; i++, at += stride) {
			rec_bytes value;

			memcpy(&value, at, sizeof value);
			to = put_varint(to, value.n);
		}
		break;
	}
	(void)before;
	buf_advance(out, (size_t)(to - start));
}

static void encode_contents(const char *at, size_t stride, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++, at += stride) {
		rec_bytes value;

		memcpy(&value, at, sizeof value);
		buf_add(out, value.p, value.n);
	}
}

static size_t n_streams(const struct record_type *type)
{
	size_t n = 0;

	for (size_t c = 0; c < type->n_columns; c++)
		n += type->columns[c].type == COLUMN_bytes ? 2 : 1;
	return n;
}

static void put_u32(struct buf *out, size_t position, size_t value)
{
	uint32_t v = (uint32_t)value;

	memcpy(out->data + position, &v, 4);
}

void columns_encode(const struct record_type *type, const void *records, size_t n, struct buf *out)
{
	size_t head = out->n, streams = n_streams(type), start;

	buf_fill(out, 0, 4 + 4 * streams);
	put_u32(out, head, streams);
	head += 4;
	for (size_t i = 0; i < type->n_columns; i++) {
		const struct record_column *c = &type->columns[i];
		const char *first = (const char *)records + c->offset;

		start = out->n;
		encode_numbers(c, first, type->size, n, out);
		put_u32(out, head, out->n - start);
		head += 4;
		if (c->type != COLUMN_bytes)
			continue;
		start = out->n;
		encode_contents(first, type->size, n, out);
		put_u32(out, head, out->n - start);
		head += 4;
	}
}

/* ---- decoding -------------------------------------------------------------------------------- */

struct stream {
	const unsigned char *at, *end;
};

#define DECODE_WIDTH(type_t)                                  \
	for (size_t i = 0; i < n; i++, to += stride) {        \
		type_t narrow;                                \
		s->at = get_varint(s->at, s->end, &v);        \
		if (!s->at)                                   \
			return -1;                            \
		before = is_delta ? before + unzigzag(v) : v; \
		narrow = (type_t)before;                      \
		if (narrow != before && !is_delta)            \
			return -1;                            \
		memcpy(to, &narrow, sizeof narrow);           \
	}                                                     \
	break

static int decode_bytes(
	struct stream *s, struct stream *contents, char *to, size_t stride, size_t n)
{
	uint64_t length;

	for (size_t i = 0; i < n; i++, to += stride) {
		rec_bytes value;

		s->at = get_varint(s->at, s->end, &length);
		if (!s->at || length > (uint64_t)(contents->end - contents->at) ||
			length > COLUMNS_MAX_VALUE)
			return -1;
		value.p = contents->at;
		value.n = (uint32_t)length;
		memcpy(to, &value, sizeof value);
		contents->at += length;
	}
	return contents->at == contents->end ? 0 : -1;
}

/* 0 when the stream holds exactly n values that fit the column. */
static int decode_column(const struct record_column *c, struct stream *s, struct stream *contents,
	char *to, size_t stride, size_t n)
{
	int is_delta = c->encoding == ENCODING_DELTA || c->encoding == ENCODING_TIME;
	uint64_t before = 0, v;

	switch (c->type) {
	case COLUMN_u8:
		DECODE_WIDTH(uint8_t);
	case COLUMN_u16:
		DECODE_WIDTH(uint16_t);
	case COLUMN_u32:
		DECODE_WIDTH(uint32_t);
	case COLUMN_u64:
		DECODE_WIDTH(uint64_t);
	case COLUMN_f64:
		if ((size_t)(s->end - s->at) != n * 8)
			return -1;
		for (size_t i = 0; i < n; i++, to += stride, s->at += 8)
			memcpy(to, s->at, 8);
		break;
	case COLUMN_bytes:
		if (decode_bytes(s, contents, to, stride, n) < 0)
			return -1;
		break;
	}
	return s->at == s->end ? 0 : -1;
}

struct cursor {
	const unsigned char *lengths; /* the next stream's length, u32 */
	const unsigned char *lengths_end;
	const unsigned char *data, *end;
};

static int next_stream(struct cursor *c, struct stream *ret)
{
	uint32_t length;

	if (c->lengths_end - c->lengths < 4)
		return -1;
	memcpy(&length, c->lengths, 4);
	c->lengths += 4;
	if (length > (size_t)(c->end - c->data))
		return -1;
	*ret = (struct stream){ c->data, c->data + length };
	c->data += length;
	return 0;
}

static int bad(struct err *e, const struct record_type *type, const char *column)
{
	return err_set(
		e, ERR_BAD_FILE, "column '%s' of '%s' records does not decode", column, type->name);
}

int columns_decode(const struct record_type *type, const void *raw, size_t raw_bytes, size_t n,
	struct arena *to, void **ret_records, struct err *e)
{
	struct cursor c = { .lengths = raw, .end = (const unsigned char *)raw + raw_bytes };
	uint32_t streams;
	char *records;

	if (raw_bytes < 4 || n > COLUMNS_MAX_RECORDS)
		return err_set(
			e, ERR_BAD_FILE, "%zu '%s' records in %zu bytes", n, type->name, raw_bytes);
	memcpy(&streams, raw, 4);
	c.lengths += 4;
	if (streams > (raw_bytes - 4) / 4)
		return bad(e, type, "lengths");
	c.data = c.lengths_end = c.lengths + 4 * (size_t)streams;
	records = arena_array(to, n ? n : 1, type->size);
	for (size_t i = 0; i < type->n_columns && c.lengths < c.lengths_end; i++) {
		const struct record_column *column = &type->columns[i];
		struct stream s, contents = { 0 };

		if (next_stream(&c, &s) < 0 ||
			(column->type == COLUMN_bytes && next_stream(&c, &contents) < 0) ||
			decode_column(
				column, &s, &contents, records + column->offset, type->size, n) < 0)
			return bad(e, type, column->name);
	}
	*ret_records = records;
	return 0;
}
