/* SPDX-License-Identifier: MIT
 * See strings.h. */
#include "cpython/strings.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cpython/mem.h"
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

static int read_start(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t limit_chars, bool may_be_cut, struct buf *out, uint64_t *ret_length)
{
	unsigned char head[HEAD_MAX];
	int64_t length;
	uint32_t data;
	uint64_t from;
	unsigned kind;
	bool is_ascii;
	int failed;

	if (l->str_ascii_data > sizeof head || (address & 7))
		return -EINVAL;
	failed = mem_read(m, address, head, l->str_ascii_data);
	if (failed)
		return failed;
	if (!parse_head(l, head, &kind, &data, &is_ascii, &length) || (!data && !may_be_cut))
		return -EINVAL;
	if ((uint64_t)length > limit_chars && !may_be_cut)
		return -E2BIG;
	from = address + data;
	if (!data)
		failed = mem_read_u64(m, address + l->str_compact_data, &from);
	*ret_length = (uint64_t)length;
	if ((uint64_t)length > limit_chars)
		length = (int64_t)limit_chars;
	if (failed || length == 0)
		return failed;
	return read_characters(m, from, (size_t)length, kind, is_ascii, out);
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
