/* SPDX-License-Identifier: MIT
 * See scan.h. */
#include "formats/torch/scan.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "formats/input.h"
#include "base/banned.h"

enum { PIECE = 1 << 20, DEPTH = 256 };

/* ---- the window ------------------------------------------------------------------------------ */

void scan_window_init(struct scan_window *w, struct input *in)
{
	*w = (struct scan_window){ .in = in };
}

void scan_window_done(struct scan_window *w)
{
	free(w->data);
	w->data = NULL;
}

bool scan_window_more(struct scan_window *w)
{
	size_t before;
	int n;

	if (w->at) {
		memmove(w->data, w->data + w->at, w->n - w->at);
		w->offset += w->at;
		w->n -= w->at;
		w->at = 0;
	}
	if (w->has_ended || w->n > TORCH_SCAN_ITEM)
		return false;
	if (w->n + PIECE + 1 > w->capacity) {
		w->capacity = (w->n + PIECE) * 2 + 1;
		w->data = xrealloc(w->data, w->capacity, 1);
	}
	before = w->n;
	while (w->n < w->capacity - PIECE) {
		n = input_fill(w->in, w->data + w->n, PIECE);
		w->has_failed |= n < 0;
		w->has_ended |= n <= 0;
		if (n <= 0)
			break;
		w->n += (size_t)n;
	}
	w->data[w->n] = '\0';
	return w->n > before;
}

struct scan scan_begin(const struct scan_window *w)
{
	static const char nothing[1] = "";

	if (!w->data)
		return (struct scan){ .at = nothing, .end = nothing };
	return (struct scan){ .at = w->data + w->at, .end = w->data + w->n };
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool fail(struct scan *s, enum scan_status status)
{
	if (s->status == SCAN_OK)
		s->status = status;
	return false;
}

/* What a character ends: a run of blanks is of BLANK, texts end at TEXT, words at WORD, what is passed over at NEST. NUL
 * ends all of them, as the last byte of the window. */
enum { BLANK = 1, TEXT = 2, WORD = 4, NEST = 8 };

static const uint8_t classes[256] = {
	['\0'] = TEXT | WORD | NEST,
	[' '] = BLANK | WORD,
	['\n'] = BLANK | WORD,
	['\t'] = BLANK | WORD,
	['\r'] = BLANK | WORD,
	['"'] = TEXT | WORD | NEST,
	['\\'] = TEXT,
	[','] = WORD,
	[':'] = WORD,
	['['] = WORD | NEST,
	['{'] = WORD | NEST,
	[']'] = WORD | NEST,
	['}'] = WORD | NEST,
};

static bool is_of(char c, unsigned class)
{
	return classes[(unsigned char)c] & class;
}

char scan_peek(struct scan *s)
{
	const char *at = s->at;

	while (is_of(*at, BLANK))
		at++;
	s->at = at;
	if (at >= s->end) {
		fail(s, SCAN_MORE);
		return 0;
	}
	return *at;
}

bool scan_take(struct scan *s, char c)
{
	if (scan_peek(s) != c)
		return false;
	s->at++;
	return true;
}

/* Whether JSON goes on after a quote: "key":, "value", "key" or "value" }. The window may end first. */
static bool goes_on(struct scan *s, const char *at)
{
	struct scan ahead = { .at = at, .end = s->end };
	char next = scan_peek(&ahead);

	if (next == ',') {
		ahead.at++;
		next = scan_peek(&ahead);
		if (next != '"' || ahead.status != SCAN_OK)
			return next != 0 && strchr("0123456789-[{", next);
		do /* a key's quotes are followed by a colon, another text's by a comma */
			ahead.at++;
		while (ahead.at < ahead.end && *ahead.at != '"' && *ahead.at != '\n');
		if (ahead.at >= ahead.end || *ahead.at != '"')
			return fail(s, ahead.at >= ahead.end ? SCAN_MORE : SCAN_OK);
		ahead.at++;
		next = scan_peek(&ahead);
		return next == ':' || next == ',' || next == ']';
	}
	if (ahead.status != SCAN_OK)
		return fail(s, SCAN_MORE);
	return next == ':' || next == '}' || next == ']';
}

bool scan_text(struct scan *s, struct scan_text *ret)
{
	const char *at, *begin;

	if (!scan_take(s, '"'))
		return fail(s, SCAN_BAD);
	*ret = (struct scan_text){ 0 };
	for (begin = at = s->at;; at++) {
		while (!is_of(*at, TEXT))
			at++;
		if (at >= s->end)
			return fail(s, SCAN_MORE);
		if (*at == '\\' && at + 1 < s->end) {
			ret->has_escapes = true;
			at++;
		} else if (*at == '"') {
			if (!s->is_careful || goes_on(s, at + 1))
				break;
			if (s->status != SCAN_OK)
				return false;
			s->n_forgiven++;
		}
	}
	ret->p = begin;
	ret->n = (size_t)(at - begin);
	s->at = at + 1;
	return true;
}

bool scan_key(struct scan *s, struct scan_text *ret, bool is_first)
{
	char next = scan_peek(s);

	if (next == ',') {
		s->at++;
		next = scan_peek(s);
		s->n_forgiven += next == '}' || is_first;
	} else if (next == '"' && !is_first) {
		return fail(s, SCAN_BAD);
	}
	if (next == '}') {
		s->at++;
		return false;
	}
	if (next != '"')
		return fail(s, SCAN_BAD);
	if (!scan_text(s, ret))
		return false;
	return scan_take(s, ':') || fail(s, SCAN_BAD);
}

/* A number or a word as written. */
static bool scan_word(struct scan *s, struct scan_text *ret)
{
	const char *at;

	scan_peek(s);
	*ret = (struct scan_text){ .p = s->at };
	for (at = s->at; !is_of(*at, WORD); at++)
		;
	if (at >= s->end)
		return fail(s, SCAN_MORE);
	ret->n = (size_t)(at - s->at);
	if (!ret->n) {
		if (*at && strchr(",}]", *at)) { /* a value left out */
			s->n_forgiven++;
			return true;
		}
		return fail(s, SCAN_BAD);
	}
	if ((*ret->p < '0' || *ret->p > '9') && *ret->p != '-' && !scan_is(ret, "true") &&
		!scan_is(ret, "false") && !scan_is(ret, "null"))
		s->n_forgiven++; /* nan, inf */
	s->at = at;
	return true;
}

/* Arrays and objects: brackets are counted, texts passed over. */
static bool scan_nested(struct scan *s)
{
	struct scan_text ignored;
	const char *at = s->at;
	unsigned depth = 0;

	do {
		while (!is_of(*at, NEST))
			at++;
		if (at >= s->end)
			return fail(s, SCAN_MORE);
		if (*at == '"') {
			s->at = at;
			if (!scan_text(s, &ignored))
				return false;
			at = s->at;
			continue;
		}
		if (*at == '[' || *at == '{')
			depth++;
		else if (*at)
			depth--;
		at++;
	} while (depth && depth <= DEPTH);
	s->at = at;
	return depth == 0 || fail(s, SCAN_BAD);
}

bool scan_value(struct scan *s, struct scan_text *ret)
{
	char next = scan_peek(s);

	if (next == '"')
		return scan_text(s, ret);
	if (next == '[' || next == '{') {
		ret->p = s->at;
		ret->has_escapes = false;
		if (!scan_nested(s))
			return false;
		ret->n = (size_t)(s->at - ret->p);
		return true;
	}
	return scan_word(s, ret);
}

/* ---- what they mean -------------------------------------------------------------------------- */

bool scan_i64(const struct scan_text *t, int64_t *ret)
{
	size_t i = t->n && *t->p == '-';
	uint64_t value = 0;

	if (i == t->n || t->n - i > 18)
		return false;
	for (size_t k = i; k < t->n; k++) {
		if (t->p[k] < '0' || t->p[k] > '9')
			return false;
		value = value * 10 + (uint64_t)(t->p[k] - '0');
	}
	*ret = i ? -(int64_t)value : (int64_t)value;
	return true;
}

static bool scan_milli_slow(const struct scan_text *t, int64_t *ret)
{
	char text[64];
	char *end;
	double value;

	if (!t->n || t->n >= sizeof text)
		return false;
	memcpy(text, t->p, t->n);
	text[t->n] = '\0';
	value = strtod(text, &end) * 1e3;
	if (end == text || *end || !(value > -9e18 && value < 9e18))
		return false;
	*ret = (int64_t)(value + (value < 0 ? -0.5 : 0.5));
	return true;
}

/* The same without rounding; false also for more than three decimals, exponents and the like. */
static bool scan_milli_exact(const struct scan_text *t, int64_t *ret)
{
	size_t i = t->n && *t->p == '-', decimals = 0;
	bool has_point = false;
	uint64_t value = 0;

	if (i == t->n || t->n > 18)
		return false;
	for (size_t k = i; k < t->n; k++) {
		char c = t->p[k];

		if (c == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (c < '0' || c > '9' || decimals == 3)
			return false;
		value = value * 10 + (uint64_t)(c - '0');
		decimals += has_point;
	}
	if (t->n - i > 15 + decimals)
		return false;
	for (; decimals < 3; decimals++)
		value *= 10;
	*ret = i ? -(int64_t)value : (int64_t)value;
	return true;
}

bool scan_milli(const struct scan_text *t, int64_t *ret)
{
	return scan_milli_exact(t, ret) || scan_milli_slow(t, ret);
}

#define MOST 9e18L

/* Thousandths with what is behind the point; false for what is no number. */
static bool scan_milli_long(const struct scan_text *t, long double *ret)
{
	char text[64];
	char *end;

	if (!t->n || t->n >= sizeof text)
		return false;
	memcpy(text, t->p, t->n);
	text[t->n] = '\0';
	*ret = strtold(text, &end) * 1000;
	return end != text && !*end && isfinite(*ret);
}

bool scan_milli_sum(const struct scan_text *a, const struct scan_text *b, int64_t *ret)
{
	long double x, y;
	int64_t first, second = 0;

	if (scan_milli_exact(a, &first) && (!b->n || scan_milli_exact(b, &second))) {
		*ret = first + (second > 0 ? second : 0);
		return true;
	}
	if (!scan_milli_long(a, &x) || !(x > -MOST && x < MOST))
		return false;
	if (scan_milli_long(b, &y) && y > 0)
		x = fminl(x + y, MOST);
	*ret = llroundl(x);
	return true;
}

bool scan_is_scalar(const struct scan_text *t)
{
	return t->p &&
		(t->p[-1] == '"' || (t->n && (*t->p == '-' || isdigit((unsigned char)*t->p))));
}

/* Four hexadecimal digits; UINT32_MAX where there are none. */
static uint32_t hex4(const char *p, size_t n)
{
	uint32_t value = 0;

	for (size_t i = 0; i < 4; i++) {
		char c = i < n ? (char)(p[i] | 0x20) : ' ';
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
			: c >= 'a' && c <= 'f'        ? (unsigned)(c - 'a') + 10
						      : 16;

		if (digit > 15)
			return UINT32_MAX;
		value = value << 4 | digit;
	}
	return value;
}

/* After a backslash and a u: up to two of them; returns the bytes used. */
static size_t decode_u(const char *p, size_t n, struct buf *out)
{
	uint32_t c = hex4(p, n), low;

	if (c == UINT32_MAX)
		return 0;
	if (c >= 0xd800 && c < 0xdc00 && n >= 10 && p[4] == '\\' && p[5] == 'u') {
		low = hex4(p + 6, n - 6);
		if (low >= 0xdc00 && low < 0xe000) {
			text_add_char(out, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
			return 10;
		}
	}
	text_add_char(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return 4;
}

void scan_decode(const struct scan_text *t, struct buf *out)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";

	if (!t->has_escapes) {
		buf_add(out, t->p, t->n);
		return;
	}
	for (size_t i = 0; i < t->n; i++) {
		const char *known;

		if (t->p[i] != '\\' || i + 1 == t->n) {
			buf_addc(out, t->p[i]);
			continue;
		}
		i++;
		known = strchr(from, t->p[i]);
		if (t->p[i] == 'u')
			i += decode_u(t->p + i + 1, t->n - i - 1, out);
		else
			buf_addc(out, known && *known ? to[known - from] : t->p[i]);
	}
}
