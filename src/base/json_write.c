/* SPDX-License-Identifier: MIT
 * See json_write.h. Numbers go through printf and strtod, which follow LC_NUMERIC: the tool never
 * calls setlocale. */
#include "base/json_write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/tty.h"
#include "base/banned.h"

void json_init(struct json_writer *w, struct buf *out, bool pretty)
{
	*w = (struct json_writer){ .out = out, .pretty = pretty };
}

void json_init_shown(struct json_writer *w, struct buf *out, bool pretty)
{
	json_init(w, out, pretty);
	w->ascii = !tty_is_utf8();
}

bool json_is_complete(const struct json_writer *w)
{
	return w->is_begun && w->depth == 0;
}

static void new_line(struct json_writer *w)
{
	if (!w->pretty)
		return;
	buf_addc(w->out, '\n');
	buf_fill(w->out, ' ', 2 * (size_t)w->depth);
}

/* What stands before an item of the innermost container. */
static void begin_item(struct json_writer *w)
{
	if (w->levels[w->depth - 1].has_items)
		buf_addc(w->out, ',');
	w->levels[w->depth - 1].has_items = true;
	new_line(w);
}

static void begin_value(struct json_writer *w)
{
	if (w->depth == 0) {
		assert(!w->is_begun && "one writer writes one value");
		w->is_begun = true;
	} else if (w->levels[w->depth - 1].is_object) {
		assert(w->has_key && "a value in an object needs its key");
		w->has_key = false;
	} else {
		begin_item(w);
	}
}

static void begin(struct json_writer *w, bool is_object)
{
	begin_value(w);
	assert(w->depth < JSON_WRITE_DEPTH && "nested too deep");
	w->levels[w->depth].is_object = is_object;
	w->levels[w->depth].has_items = false;
	w->depth++;
	buf_addc(w->out, is_object ? '{' : '[');
}

static void end(struct json_writer *w, bool is_object)
{
	assert(w->depth > 0 && "nothing is open");
	assert(w->levels[w->depth - 1].is_object == is_object && "the end does not match");
	assert(!w->has_key && "a key without a value");
	w->depth--;
	if (w->levels[w->depth].has_items)
		new_line(w);
	buf_addc(w->out, is_object ? '}' : ']');
}

void json_object_begin(struct json_writer *w)
{
	begin(w, true);
}

void json_object_end(struct json_writer *w)
{
	end(w, true);
}

void json_array_begin(struct json_writer *w)
{
	begin(w, false);
}

void json_array_end(struct json_writer *w)
{
	end(w, false);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Appends one character that is not plain; returns the bytes of s it was. */
static size_t add_special(struct buf *out, const char *s, size_t n, bool ascii)
{
	static const char letters[] = "b\bf\fn\nr\rt\t\"\"\\\\"; /* escape letter, character */
	uint32_t c;
	size_t used = text_decode(s, n, &c);

	if (c >= 0x10000 && ascii) {
		buf_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((c - 0x10000) >> 10),
			0xdc00 + ((c - 0x10000) & 0x3ff));
		return used;
	}
	if (c >= 0x80 && !text_is_control(c) &&
		!ascii) { /* the rest may be printed on a terminal */
		if (c == 0xfffd)
			buf_adds(out, "\xef\xbf\xbd");
		else
			buf_add(out, s, used);
		return used;
	}
	for (const char *at = letters; *at; at += 2)
		if ((uint32_t)at[1] == c) {
			buf_printf(out, "\\%c", at[0]);
			return used;
		}
	buf_printf(out, "\\u%04" PRIx32, c);
	return used;
}

static void add_quoted(const struct json_writer *w, const char *s, size_t n)
{
	struct buf *out = w->out;
	size_t at = 0;

	buf_addc(out, '"');
	while (at < n) {
		size_t run = at;

		while (run < n && is_plain((unsigned char)s[run]))
			run++;
		buf_add(out, s + at, run - at);
		at = run;
		if (at < n)
			at += add_special(out, s + at, n - at, w->ascii);
	}
	buf_addc(out, '"');
}

void json_key(struct json_writer *w, const char *key)
{
	assert(w->depth > 0 && w->levels[w->depth - 1].is_object && "a key outside of an object");
	assert(!w->has_key && "a key after a key");
	begin_item(w);
	add_quoted(w, key, strlen(key));
	buf_adds(w->out, w->pretty ? ": " : ":");
	w->has_key = true;
}

void json_string_n(struct json_writer *w, const char *s, size_t n)
{
	begin_value(w);
	add_quoted(w, s, n);
}

void json_string(struct json_writer *w, const char *s)
{
	if (s)
		json_string_n(w, s, strlen(s));
	else
		json_null(w);
}

/* By hand: answers of the server are mostly numbers, and printf takes ten times as long. */
static void add_u64(struct buf *out, uint64_t value)
{
	char text[20];
	size_t at = sizeof text;

	do
		text[--at] = (char)('0' + value % 10);
	while (value /= 10);
	buf_add(out, text + at, sizeof text - at);
}

void json_u64(struct json_writer *w, uint64_t value)
{
	begin_value(w);
	add_u64(w->out, value);
}

void json_i64(struct json_writer *w, int64_t value)
{
	begin_value(w);
	if (value < 0)
		buf_addc(w->out, '-');
	add_u64(w->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Numbers of at most nine decimals and fifteen digits: both parts of units / 1e9 are exact, so what that division says
 * is what a reader of the decimal gets. */
static bool add_short_double(struct buf *out, double value)
{
	double size = fabs(value), units = round(size * 1e9);
	uint64_t whole, rest;
	char text[10] = ".";
	size_t n = 10;

	if (!(units < 1e15) || units / 1e9 != size)
		return false;
	whole = (uint64_t)units / 1000000000;
	rest = (uint64_t)units % 1000000000;
	if (signbit(value))
		buf_addc(out, '-');
	add_u64(out, whole);
	for (size_t i = 9; i > 0; i--, rest /= 10)
		text[i] = (char)('0' + rest % 10);
	while (text[n - 1] == '0')
		n--;
	buf_add(out, text, n > 1 ? n : 0);
	return true;
}

void json_double(struct json_writer *w, double value)
{
	char text[40];

	if (!isfinite(value)) {
		json_null(w);
		return;
	}
	begin_value(w);
	if (add_short_double(w->out, value))
		return;
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_adds(w->out, text);
}

void json_bool(struct json_writer *w, bool value)
{
	begin_value(w);
	buf_adds(w->out, value ? "true" : "false");
}

void json_null(struct json_writer *w)
{
	begin_value(w);
	buf_adds(w->out, "null");
}

void json_kv_string(struct json_writer *w, const char *key, const char *s)
{
	json_key(w, key);
	json_string(w, s);
}

void json_kv_u64(struct json_writer *w, const char *key, uint64_t value)
{
	json_key(w, key);
	json_u64(w, value);
}

void json_kv_i64(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	json_i64(w, value);
}

void json_kv_double(struct json_writer *w, const char *key, double value)
{
	json_key(w, key);
	json_double(w, value);
}

void json_kv_bool(struct json_writer *w, const char *key, bool value)
{
	json_key(w, key);
	json_bool(w, value);
}
