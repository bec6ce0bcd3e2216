/* SPDX-License-Identifier: MIT
 * See protobuf.h. */
#include "formats/codec/protobuf.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

enum { VARINT_MOST = 10 };

void pb_put_varint(struct buf *out, uint64_t value)
{
	char bytes[VARINT_MOST];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (char)(value | 0x80);
	bytes[n++] = (char)value;
	buf_add(out, bytes, n);
}

void pb_put_u64(struct buf *out, unsigned field, uint64_t value)
{
	pb_put_varint(out, (uint64_t)field << 3 | PB_VARINT);
	pb_put_varint(out, value);
}

void pb_put_bytes(struct buf *out, unsigned field, const void *p, size_t n)
{
	pb_put_varint(out, (uint64_t)field << 3 | PB_BYTES);
	pb_put_varint(out, n);
	buf_add(out, p, n);
}

void pb_put_text(struct buf *out, unsigned field, const char *s, size_t n)
{
	struct buf valid = BUF_INIT;
	uint32_t c;

	for (size_t at = 0; at < n;) {
		at += text_decode(s + at, n - at, &c);
		text_add_char(&valid, c);
	}
	pb_put_bytes(out, field, valid.data, valid.n);
	buf_done(&valid);
}

struct pb pb_begin(const void *p, size_t n)
{
	return (struct pb){ .at = p, .end = n ? (const unsigned char *)p + n : p };
}

bool pb_next_varint(struct pb *m, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; m->at < m->end && shift < 7 * VARINT_MOST; shift += 7) {
		unsigned char byte = *m->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	m->is_bad |= m->at < m->end;
	return false;
}

static bool fixed(struct pb *m, size_t n, uint64_t *ret)
{
	*ret = 0;
	if ((size_t)(m->end - m->at) < n)
		return false;
	memcpy(ret, m->at, n);
	m->at += n;
	return true;
}

bool pb_next(struct pb *m, struct pb_field *ret)
{
	uint64_t key, n;
	bool is_whole = false;

	if (m->at >= m->end || m->is_bad)
		return false;
	*ret = (struct pb_field){ 0 };
	if (pb_next_varint(m, &key) && key >> 3 && key >> 3 < UINT32_MAX) {
		ret->number = (uint32_t)(key >> 3);
		ret->type = (enum pb_type)(key & 7);
		if (ret->type == PB_VARINT) {
			is_whole = pb_next_varint(m, &ret->value);
		} else if (ret->type == PB_FIXED64 || ret->type == PB_FIXED32) {
			is_whole = fixed(m, ret->type == PB_FIXED64 ? 8 : 4, &ret->value);
		} else if (ret->type == PB_BYTES && pb_next_varint(m, &n) &&
			n <= (size_t)(m->end - m->at)) {
			ret->p = m->at;
			ret->n = (size_t)n;
			m->at += n;
			is_whole = true;
		}
	}
	m->is_bad = !is_whole;
	return is_whole;
}
