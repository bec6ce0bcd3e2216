/* SPDX-License-Identifier: MIT
 * The JSON reader against anything. Three things must hold besides not crashing: reading in pieces
 * gives the same tokens as reading from memory; what is read and written again reads the same; text
 * is valid UTF-8. The first byte of the input chooses the size of the pieces. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"

enum { STRING_LIMIT = 100 }; /* within reach of the fuzzer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct pieces {
	const uint8_t *p;
	size_t n, step;
};

static int fill_pieces(void *ctx, void *to, size_t n)
{
	struct pieces *s = ctx;
	size_t take = s->n < s->step ? s->n : s->step;

	take = take < n ? take : n;
	memcpy(to, s->p, take);
	s->p += take;
	s->n -= take;
	return (int)take;
}

static void require(int holds)
{
	if (!holds)
		abort();
}

static void require_utf8(const char *s, size_t n)
{
	uint32_t c;

	for (size_t at = 0; at < n;) {
		size_t step = text_decode(s + at, n - at, &c);

		require(c != 0xfffd || step == 3);
		at += step;
	}
}

/* Kind, length and text of every token; the error's text where it ends in one. */
static int collect(struct json_reader *r, struct buf *out)
{
	enum json_token t = JSON_NULL;
	struct err e = ERR_INIT;
	int status;

	while ((status = json_next(r, &t, &e)) == 0 && t != JSON_END) {
		buf_addc(out, (char)t);
		if (t != JSON_KEY && t != JSON_STRING && t != JSON_NUMBER)
			continue;
		require_utf8(r->text, r->n);
		buf_add(out, &r->n, sizeof r->n);
		buf_add(out, r->text, r->n);
	}
	if (status < 0)
		buf_adds(out, e.text);
	return status;
}

static void copy_token(const struct json_reader *r, enum json_token t, struct json_writer *w)
{
	switch (t) {
	case JSON_END:
		break;
	case JSON_OBJECT_BEGIN:
		json_object_begin(w);
		break;
	case JSON_OBJECT_END:
		json_object_end(w);
		break;
	case JSON_ARRAY_BEGIN:
		json_array_begin(w);
		break;
	case JSON_ARRAY_END:
		json_array_end(w);
		break;
	case JSON_KEY:
		json_key(w, "key");
		break;
	case JSON_STRING:
		json_string_n(w, r->text, r->n);
		break;
	case JSON_NUMBER:
		json_double(w, json_number_double(r));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		json_bool(w, t == JSON_TRUE);
		break;
	case JSON_NULL:
		json_null(w);
		break;
	}
}

/* Reads valid JSON and writes it again; numbers as doubles, all keys alike. */
static void rewrite(const void *p, size_t n, bool pretty, struct buf *out)
{
	struct json_reader r;
	struct json_writer w;
	enum json_token t = JSON_NULL;
	struct err e = ERR_INIT;

	json_reader_init_memory(&r, p, n);
	json_init(&w, out, pretty);
	while (t != JSON_END) {
		require(json_next(&r, &t, &e) == 0);
		copy_token(&r, t, &w);
	}
	require(json_is_complete(&w));
	json_reader_done(&r);
}

static void check_rewritten(const uint8_t *data, size_t n)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct json_reader r;
	struct err e = ERR_INIT;

	rewrite(data, n, n % 2, &once);
	rewrite(once.data, once.n, n % 2, &twice);
	require(once.n == twice.n && memcmp(once.data, twice.data, once.n) == 0);
	json_reader_init_memory(&r, data, n);
	require(json_skip(&r, &e) == 0);
	json_reader_done(&r);
	buf_done(&once);
	buf_done(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf whole = BUF_INIT, parts = BUF_INIT;
	struct json_reader r;
	struct pieces s;
	int status;

	if (n == 0)
		return 0;
	json_reader_init_memory(&r, data + 1, n - 1);
	r.limit_bytes = STRING_LIMIT;
	status = collect(&r, &whole);
	json_reader_done(&r);
	s = (struct pieces){ .p = data + 1, .n = n - 1, .step = 1 + data[0] % 64u };
	json_reader_init(&r, fill_pieces, &s);
	r.limit_bytes = STRING_LIMIT;
	require(collect(&r, &parts) == status);
	require(whole.n == parts.n && memcmp(buf_str(&whole), buf_str(&parts), whole.n) == 0);
	json_reader_done(&r);
	if (status == 0)
		check_rewritten(data + 1, n - 1);
	buf_done(&whole);
	buf_done(&parts);
	return 0;
}
