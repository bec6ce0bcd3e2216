/* SPDX-License-Identifier: MIT
 * See compress.h. */
#include "serve/http/compress.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/banned.h"

enum { ZSTD_LEVEL = 3, GZIP_LEVEL = 3, FILE_LEVEL = 9, GZIP_FRAME = 16 + 15, NO_FRAME = -15 };

/* Whether the list names it, other than with q=0. */
static bool is_accepted(const char *list, const char *name)
{
	size_t n = strlen(name);

	while (*list) {
		size_t n_word = strcspn(list, ",");
		const char *q = memmem(list, n_word, "q=", 2);

		while (n_word && (*list == ' ' || *list == '\t')) {
			list++;
			n_word--;
		}
		if (n_word >= n && strncasecmp(list, name, n) == 0 &&
			(n_word == n || list[n] == ';' || list[n] == ' '))
			return !q || strtod(q + 2, NULL) > 0;
		list += n_word;
		list += *list == ',';
	}
	return false;
}

enum encoding encoding_choose(const char *accepted)
{
	if (accepted && is_accepted(accepted, "zstd"))
		return ENCODING_ZSTD;
	return accepted && is_accepted(accepted, "gzip") ? ENCODING_GZIP : ENCODING_NONE;
}

const char *encoding_name(enum encoding e)
{
	return e == ENCODING_ZSTD ? "zstd" : e == ENCODING_GZIP ? "gzip" : NULL;
}

static void deflate_all(int level, int window, const void *p, size_t n, struct buf *out)
{
	z_stream z = { 0 };
	size_t most;
	int status = deflateInit2(&z, level, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY);

	assert(status == Z_OK && n < UINT32_MAX);
	most = deflateBound(&z, n);
	z.next_in = (void *)(uintptr_t)p;
	z.avail_in = (uInt)n;
	z.next_out = buf_reserve(out, most);
	z.avail_out = (uInt)most;
	status = deflate(&z, Z_FINISH);
	assert(status == Z_STREAM_END);
	buf_advance(out, most - z.avail_out);
	deflateEnd(&z);
	(void)status;
}

void compress_deflate(const void *p, size_t n, struct buf *out)
{
	deflate_all(FILE_LEVEL, NO_FRAME, p, n, out);
}

void encoding_apply(enum encoding e, const void *p, size_t n, struct buf *out)
{
	size_t n_out, most = ZSTD_compressBound(n);

	switch (e) {
	case ENCODING_NONE:
		buf_add(out, p, n);
		return;
	case ENCODING_GZIP:
		deflate_all(GZIP_LEVEL, GZIP_FRAME, p, n, out);
		return;
	case ENCODING_ZSTD:
		n_out = ZSTD_compress(buf_reserve(out, most), most, p, n, ZSTD_LEVEL);
		assert(!ZSTD_isError(n_out));
		buf_advance(out, n_out);
		return;
	}
}

void compress_base64(const void *p, size_t n, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = p;
	char *to = buf_reserve(out, n / 3 * 4 + 5), *at = to;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		unsigned bits = (unsigned)from[i] << 16 |
			(left > 1 ? (unsigned)from[i + 1] << 8 : 0) | (left > 2 ? from[i + 2] : 0);

		*at++ = digits[bits >> 18];
		*at++ = digits[bits >> 12 & 63];
		*at++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*at++ = left > 2 ? digits[bits & 63] : '=';
	}
	buf_advance(out, (size_t)(at - to));
}
