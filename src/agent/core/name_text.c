/* SPDX-License-Identifier: MIT
 * See name_text.h. */
#include "agent/core/name_text.h"

#include <string.h>

static size_t put_utf8(unsigned char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (unsigned char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (unsigned char)(0xc0 | c >> 6);
		to[1] = (unsigned char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (unsigned char)(0xe0 | c >> 12);
		to[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (unsigned char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (unsigned char)(0xf0 | c >> 18);
	to[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (unsigned char)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t char_at(PyObject *text, const void *data, size_t i)
{
	return PyUnicode_READ(PyUnicode_KIND(text), data, i);
}

static uint64_t hash_of(PyObject *text, const void *data, size_t n)
{
	uint64_t h = name_hash_begin(n);

	for (size_t i = 0; i < n && i < NAME_ENDS; i++)
		h = name_hash_add(h, char_at(text, data, i));
	for (size_t i = n > NAME_ENDS ? n - NAME_ENDS : 0; i < n; i++)
		h = name_hash_add(h, char_at(text, data, i));
	return h;
}

uint32_t name_text_put(unsigned char *to, PyObject *text, size_t most)
{
	struct compat_text t = { 0 };
	size_t n_chars, shown, n = 0;
	char mark[NAME_MARK_BYTES];

	if (text && PyUnicode_Check(text))
		t = compat_text(text);
	if (!t.data)
		return 0;
	n_chars = t.n / (size_t)PyUnicode_KIND(text);
	shown = n_chars > most ? most - NAME_MARK_CHARS : n_chars;
	for (size_t i = 0; i < shown; i++) {
		uint32_t c = char_at(text, t.data, i);

		n += put_utf8(to + n, c >= 0xd800 && c < 0xe000 ? '?' : c);
	}
	if (n_chars > most) {
		name_mark(hash_of(text, t.data, n_chars), mark);
		memcpy(to + n, mark, sizeof mark);
		n += sizeof mark;
	}
	return (uint32_t)n;
}
