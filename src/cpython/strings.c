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

/* Where the characters are and how wide; false when the head is none of a compact str. */
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
	if (!(state >> l->str_state_compact & 1) || (kind != 1 && kind != 2 && kind != 4) ||
		(is_ascii && kind != 1) || *ret_length < 0)
		return false;
	*ret_kind = kind;
	*ret_is_ascii = is_ascii;
	*ret_data = is_ascii ? l->str_ascii_data : l->str_compact_data;
	return true;
}

int strings_read(const struct mem *m, const struct py_layout *l, uint64_t address,
	size_t limit_chars, struct buf *out)
{
	unsigned char head[HEAD_MAX];
	struct buf wide = BUF_INIT;
	int64_t length;
	uint32_t data;
	unsigned kind;
	size_t n_bytes;
	bool is_ascii;
	int failed;

	if (l->str_ascii_data > sizeof head || (address & 7))
		return -EINVAL;
	failed = mem_read(m, address, head, l->str_ascii_data);
	if (failed)
		return failed;
	if (!parse_head(l, head, &kind, &data, &is_ascii, &length))
		return -EINVAL;
	if ((uint64_t)length > limit_chars)
		return -E2BIG;
	if (length == 0)
		return 0;
	n_bytes = (size_t)length * kind;
	failed = mem_read(m, address + data, buf_reserve(&wide, n_bytes), n_bytes);
	if (failed == 0 && is_ascii)
		for (size_t i = 0; i < n_bytes && !failed; i++)
			failed = wide.data[i] & 0x80 ? -EINVAL : 0;
	if (failed == 0)
		add_wide(out, (const unsigned char *)wide.data, (size_t)length, kind);
	buf_done(&wide);
	return failed;
}
