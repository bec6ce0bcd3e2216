/* SPDX-License-Identifier: MIT
 * See strings.h. */
#include "cpython/strings.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cpython/mem.h"
#include "wire/name.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum { HEAD_MAX = 256 }; /* the heads of all versions take less */

/* A byte that was not UTF-8 stands as a surrogate (PEP 383): it becomes that byte again. */
static void add_utf8(struct buf *out, uint32_t c)
{
	if (c >= 0xdc80 && c <= 0xdcff) {
		buf_addc(out, (char)(c - 0xdc00));
		return;
	}
	text_add_char(out, c);
}

static void add_wide(struct buf *out, const unsigned char *from, size_t n_chars, unsigned kind)
{
	for (size_t i = 0; i < n_chars; i++) {
		uint32_t c = 0;

		memcpy(&c, from + i * kind, kind); /* little-endian, as all machines we run on */
		add_utf8(out, c);
	}
}

/* Where the characters are and how wide; false when the head is none of a str. *ret_data 0: behind a
 * pointer, as in instances of subclasses. */
static bool parse_head(const struct py_layout *l, const unsigned char *head, unsigned *ret_kind,
	uint32_t *ret_data, bool *ret_is_ascii, int64_t *ret_length)
{
	uint32_t state;
	unsigned kind;
	bool is_ascii;

	memcpy(&state, head + l->str_state, sizeof state);
	memcpy(ret_length, head + l->str_length, sizeof *ret_length);
	kind = state >> l->str_state_kind & 7;
	is_ascii = state >> l->str_state_ascii & 1;
	if ((kind != 1 && kind != 2 && kind != 4) || (is_ascii && kind != 1) || *ret_length < 0)
		return false;
	*ret_kind = kind;
	*ret_is_ascii = is_ascii;
	*ret_data = is_ascii ? l->str_ascii_data : l->str_compact_data;
	if (!(state >> l->str_state_compact & 1))
		*ret_data = 0;
	return true;
}

static int read_characters(const struct mem *m, uint64_t from, size_t n_chars, unsigned kind,
	bool is_ascii, struct buf *out)
{
	struct buf wide = BUF_INIT;
	size_t n_bytes = n_chars * kind;
	int failed = mem_read(m, from, buf_reserve(&wide, n_bytes), n_bytes);

	if (failed == 0 && is_ascii)
		for (size_t i = 0; i < n_bytes && !failed; i++)
			failed = wide.data[i] & 0x80 ? -EINVAL : 0;
	if (failed == 0)
		add_wide(out, (const unsigned char *)wide.data, n_chars, kind);
	buf_done(&wide);
	return failed;
}

struct head {
	uint64_t from; /* where the characters are */
	uint64_t length;
	unsigned kind;
	bool is_ascii;
};

/* is_loose: instances of subclasses will do. */
static int read_head(const struct mem *m, const struct py_layout *l, uint64_t address,
	bool is_loose, struct head *ret)
{
	unsigned char head[HEAD_MAX];
	int64_t length;
	uint32_t data;
	int failed;

	if (l->str_ascii_data > sizeof head || (address & 7))
		return -EINVAL;
	failed = mem_read(m, address, head, l->str_ascii_data);
	if (failed)
		return failed;
	if (!parse_head(l, head, &ret->kind, &data, &ret->is_ascii, &length) ||
		(!data && !is_loose))
		return -EINVAL;
	ret->length = (uint64_t)length;
	ret->from = address + data;
	return data ? 0 : mem_read_u64(m, address + l->str_compact_data, &ret->from);
}

static int read_start(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t limit_chars, bool may_be_cut, struct buf *out, uint64_t *ret_length)
{
	struct head h;
	int failed = read_head(m, l, address, may_be_cut, &h);

	if (failed)
		return failed;
	if (h.length > limit_chars && !may_be_cut)
		return -E2BIG;
	*ret_length = h.length;
	if (h.length > limit_chars)
		h.length = limit_chars;
	return h.length ? read_characters(m, h.from, h.length, h.kind, h.is_ascii, out) : 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int hash_end(const struct mem *m, const struct head *h, uint64_t first, uint64_t *hash)
{
	unsigned char end[NAME_ENDS * 4];
	uint64_t n = h->length - first < NAME_ENDS ? h->length - first : NAME_ENDS;
	int failed = mem_read(m, h->from + first * h->kind, end, n * h->kind);

	for (uint64_t i = 0; !failed && i < n; i++) {
		uint32_t c = 0;

		memcpy(&c, end + i * h->kind, h->kind);
		*hash = name_hash_add(*hash, c);
	}
	return failed;
}

static int read_cut(const struct mem *m, const struct head *h, size_t most, struct buf *out)
{
	uint64_t hash = name_hash_begin(h->length);
	size_t before = out->n;
	char mark[NAME_MARK_BYTES];
	int failed = read_characters(m, h->from, most - NAME_MARK_CHARS, h->kind, h->is_ascii, out);

	if (!failed)
		failed = hash_end(m, h, 0, &hash);
	if (!failed)
		failed = hash_end(m, h, h->length > NAME_ENDS ? h->length - NAME_ENDS : 0, &hash);
	if (failed) {
		out->n = before;
		return failed;
	}
	name_mark(hash, mark);
	buf_add(out, mark, sizeof mark);
	return 0;
}

static void replace_nuls(struct buf *out, size_t from)
{
	struct buf text = BUF_INIT;

	if (out->n == from || !memchr(out->data + from, '\0', out->n - from))
		return;
	buf_add(&text, out->data + from, out->n - from);
	out->n = from;
	for (size_t i = 0; i < text.n; i++)
		if (text.data[i])
			buf_addc(out, text.data[i]);
		else
			text_add_char(out, 0x2400);
	buf_done(&text);
}

int strings_read_name(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t most_chars, struct buf *out)
{
	size_t before = out->n;
	struct head h;
	int failed = read_head(m, l, address, false, &h);

	if (!failed && h.length > most_chars)
		failed = read_cut(m, &h, most_chars, out);
	else if (!failed && h.length)
		failed = read_characters(m, h.from, h.length, h.kind, h.is_ascii, out);
	if (!failed)
		replace_nuls(out, before);
	return failed;
}

int strings_read(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t limit_chars, struct buf *out)
{
	uint64_t length;

	return read_start(m, l, address, limit_chars, false, out, &length);
}

int strings_read_start(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t limit_chars, struct buf *out, uint64_t *ret_length)
{
	return read_start(m, l, address, limit_chars, true, out, ret_length);
}
