/* SPDX-License-Identifier: MIT
 * See json_read.h. What makes it fast: a string without escapes that lies whole in the window is
 * borrowed, found by looking at eight bytes at a time; numbers are converted only when asked for.
 */
#include "base/json_read.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum { WINDOW = 128 << 10 };

enum expect {
	EXPECT_VALUE,      /* the one value, or what must follow a comma */
	EXPECT_FIRST_ITEM, /* a value, or the end of the array */
	EXPECT_FIRST_KEY,  /* a key, or the end of the object */
	EXPECT_COLON,      /* and a value */
	EXPECT_SEPARATOR,  /* a comma and what follows it, or the end of the container */
	EXPECT_END,        /* of the input */
};

void json_reader_init(struct json_reader *r, int (*fill)(void *ctx, void *to, size_t n), void *ctx)
{
	*r = (struct json_reader){ .fill = fill, .ctx = ctx, .limit_bytes = JSON_STRING_LIMIT };
}

void json_reader_init_memory(struct json_reader *r, const void *p, size_t n)
{
	const char *at = n ? p : "";

	*r = (struct json_reader){ .limit_bytes = JSON_STRING_LIMIT };
	r->at = at;
	r->end = at + n;
	r->end_offset = n;
	r->fill_ended = true;
}

void json_reader_done(struct json_reader *r)
{
	buf_done(&r->decoded);
	free(r->window);
	r->window = NULL;
}

int json_fill_fd(void *ctx, void *to, size_t n)
{
	const int *fd = ctx;
	ssize_t got;

	do
		got = read(*fd, to, n < INT_MAX ? n : INT_MAX);
	while (got < 0 && errno == EINTR);
	return (int)got;
}

uint64_t json_offset(const struct json_reader *r)
{
	return r->end_offset - (uint64_t)(r->end - r->at);
}

void json_copy_text(const struct json_reader *r, char *to, size_t size)
{
	size_t n = r->n < size - 1 ? r->n : size - 1;

	memcpy(to, r->text, n);
	to[n] = '\0';
}

/* Moves the bytes left to the front of the window and fills it until there are n (at most WINDOW)
 * or the input ends. Returns how many there are, possibly more. Moves what text may point to. */
static size_t refill(struct json_reader *r, size_t n)
{
	size_t left = (size_t)(r->end - r->at);

	if (!r->window)
		r->window = xmalloc(WINDOW);
	if (left)
		memmove(r->window, r->at, left);
	while (left < n && !r->fill_ended) {
		int got = r->fill(r->ctx, r->window + left, WINDOW - left);

		r->fill_ended = got <= 0;
		r->fill_failed = got < 0;
		left += got > 0 ? (size_t)got : 0;
		r->end_offset += got > 0 ? (uint64_t)got : 0;
	}
	r->at = r->window;
	r->end = r->window + left;
	return left;
}

static inline size_t ensure(struct json_reader *r, size_t n)
{
	size_t left = (size_t)(r->end - r->at);

	return left >= n || r->fill_ended ? left : refill(r, n);
}

/* The next byte that is not blank, not taken yet; -1 at the end. */
static inline int next_byte(struct json_reader *r)
{
	do
		for (; r->at < r->end; r->at++)
			if (*r->at != ' ' && *r->at != '\n' && *r->at != '\r' && *r->at != '\t')
				return (unsigned char)*r->at;
	while (ensure(r, 1));
	return -1;
}

/* Every failure passes here: it is remembered. */
static int failed(struct json_reader *r, int status)
{
	r->status = status;
	return status;
}

/* The byte at r->at is not what the grammar wants. */
static int fail(struct json_reader *r, struct err *e, const char *expected)
{
	unsigned long long at = json_offset(r);
	char found[32] = ", but the input ends";

	if (r->at == r->end && r->fill_failed)
		return failed(r, err_set(e, ERR_SYSTEM, "byte %llu: reading failed", at));
	if (r->at < r->end && *r->at >= 0x20 && *r->at < 0x7f)
		snprintf(found, sizeof found, ", not '%c'", *r->at);
	else if (r->at < r->end)
		snprintf(found, sizeof found, ", not \\x%02x", (unsigned char)*r->at);
	return failed(r, err_set(e, ERR_BAD_FILE, "byte %llu: expected %s%s", at, expected, found));
}

/* The string or number that begins at an offset is longer than we take. */
static int fail_limit(
	struct json_reader *r, uint64_t offset, const char *what, size_t limit, struct err *e)
{
	return failed(r,
		err_set(e, ERR_BAD_FILE, "byte %llu: a %s longer than %zu bytes",
			(unsigned long long)offset, what, limit));
}

/* Whether one of the eight bytes is a quote, a backslash, a control character or not ASCII. A
 * borrow may reach a byte above a hit, never below the first: the answer is exact. */
static inline bool has_special(uint64_t word)
{
	const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;

	return (((word ^ ones * '"') - ones) | ((word ^ ones * '\\') - ones) |
		       (word - ones * 0x20) | word) &
		highs;
}

/* The end of the run of plain string bytes that begins at s. */
static inline const char *plain_run(const char *s, const char *end)
{
	uint64_t word;

	for (; end - s >= 8; s += 8) {
		memcpy(&word, s, 8);
		if (has_special(word))
			break;
	}
	while (s < end && (unsigned char)*s >= 0x20 && (unsigned char)*s < 0x80 && *s != '"' &&
		*s != '\\')
		s++;
	return s;
}

static int add_decoded(struct json_reader *r, const char *s, size_t n, struct err *e)
{
	if (n > r->limit_bytes - r->decoded.n)
		return fail_limit(r, r->string_offset, "string", r->limit_bytes, e);
	buf_add(&r->decoded, s, n);
	return 0;
}

static int add_char(struct json_reader *r, uint32_t c, struct err *e)
{
	char s[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xf0) | c);
	return add_decoded(r, s, n, e);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : -1;
}

/* Reads four digits, fewer where others stand; returns how many. */
static size_t hex4(const char *s, size_t n, uint32_t *ret_value)
{
	size_t at = 0;

	*ret_value = 0;
	for (; at < 4 && at < n && hex_digit(s[at]) >= 0; at++)
		*ret_value = *ret_value << 4 | (uint32_t)hex_digit(s[at]);
	return at;
}

/* At "\u" with `have` bytes in the window, both halves of a surrogate pair if there are two. */
static int read_unicode(struct json_reader *r, size_t have, struct err *e)
{
	uint32_t c, low;
	size_t digits = hex4(r->at + 2, have - 2, &c);

	r->at += 2 + digits;
	have -= 2 + digits;
	if (digits < 4)
		return fail(r, e, "four hexadecimal digits");
	if (c >= 0xd800 && c < 0xdc00 && have >= 6 && r->at[0] == '\\' && r->at[1] == 'u' &&
		hex4(r->at + 2, 4, &low) == 4 && low >= 0xdc00 && low < 0xe000) {
		r->at += 6;
		c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
	}
	if (c >= 0xd800 && c < 0xe000)
		c = 0xfffd;
	return add_char(r, c, e);
}

/* At a backslash. */
static int read_escape(struct json_reader *r, struct err *e)
{
	static const char letters[] = "b\bf\fn\nr\rt\t\"\"\\\\//"; /* escape letter, character */
	size_t have = ensure(r, 12);

	if (have >= 2 && r->at[1] == 'u')
		return read_unicode(r, have, e);
	r->at++;
	for (const char *l = letters; have >= 2 && *l; l += 2)
		if (*r->at == l[0]) {
			r->at++;
			return add_decoded(r, l + 1, 1, e);
		}
	return fail(r, e, "one of \"\\/bfnrtu after a backslash");
}

/* At a byte that is not ASCII. */
static int read_utf8(struct json_reader *r, struct err *e)
{
	size_t have = ensure(r, 4);
	uint32_t c;

	r->at += text_decode(r->at, have, &c);
	return add_char(r, c, e);
}

/* The rest of a string that has escapes or other letters, or leaves the window. */
static int read_string_parts(struct json_reader *r, struct err *e)
{
	int status = 0;

	r->string_offset = json_offset(r) - 1;
	buf_clear(&r->decoded);
	while (status == 0) {
		const char *from = r->at;

		r->at = plain_run(from, r->end);
		status = add_decoded(r, from, (size_t)(r->at - from), e);
		if (status < 0)
			break;
		if (ensure(r, 1) == 0 || (unsigned char)*r->at < 0x20)
			return fail(r, e, "string text or '\"'");
		if (*r->at == '"')
			break;
		if (*r->at == '\\')
			status = read_escape(r, e);
		else if ((unsigned char)*r->at >= 0x80)
			status = read_utf8(r, e);
	}
	if (status < 0)
		return status;
	r->at++;
	r->text = buf_str(&r->decoded);
	r->n = r->decoded.n;
	return 0;
}

/* At the opening quote. */
static inline int read_string(struct json_reader *r, struct err *e)
{
	const char *from = ++r->at, *stop = plain_run(from, r->end);

	if (stop == r->end || *stop != '"' || (size_t)(stop - from) > r->limit_bytes)
		return read_string_parts(r, e);
	r->text = from;
	r->n = (size_t)(stop - from);
	r->at = stop + 1;
	return 0;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Steps over digits, at least one; NULL where there is none. */
static inline const char *skip_digits(const char *s, const char *end)
{
	const char *from = s;

	while (s < end && is_digit(*s))
		s++;
	return s > from ? s : NULL;
}

/* The end of the number that begins at s; where it breaks the grammar, *ret_bad is the place. */
static inline const char *number_end(const char *s, const char *end, const char **ret_bad)
{
	const char *to;

	*ret_bad = NULL;
	s += *s == '-';
	to = s < end && *s == '0' ? s + 1 : skip_digits(s, end);
	if (to && to < end && *to == '.')
		to = skip_digits(s = to + 1, end);
	if (to && to < end && (*to == 'e' || *to == 'E')) {
		s = to + 1;
		s += s < end && (*s == '-' || *s == '+');
		to = skip_digits(s, end);
	}
	if (!to)
		*ret_bad = s;
	return to;
}

/* At a digit or a minus sign. */
static inline int read_number(struct json_reader *r, enum json_token *ret, struct err *e)
{
	const char *bad, *to = number_end(r->at, r->end, &bad);

	if ((!to || to == r->end) && !r->fill_ended) { /* may go on behind the window */
		ensure(r, JSON_NUMBER_TEXT + 1);
		to = number_end(r->at, r->end, &bad);
	}
	if ((to ? to : bad) - r->at > JSON_NUMBER_TEXT)
		return fail_limit(r, json_offset(r), "number", JSON_NUMBER_TEXT, e);
	if (!to) {
		r->at = bad;
		return fail(r, e, "a digit");
	}
	if (to < r->end && is_digit(*to)) {
		r->at = to;
		return fail(r, e, "no digit after a leading zero");
	}
	r->text = r->at;
	r->n = (size_t)(to - r->at);
	r->at = to;
	*ret = JSON_NUMBER;
	return 0;
}

static inline void value_is_over(struct json_reader *r)
{
	r->expect = r->depth ? EXPECT_SEPARATOR : EXPECT_END;
}

static int read_word(struct json_reader *r, const char *word, enum json_token token,
	enum json_token *ret, struct err *e)
{
	size_t n = strlen(word), have = ensure(r, n), same = 0;

	while (same < n && same < have && r->at[same] == word[same])
		same++;
	r->at += same;
	if (same < n)
		return fail(r, e, word);
	*ret = token;
	return 0;
}

static int open_container(
	struct json_reader *r, bool is_object, enum json_token *ret, struct err *e)
{
	if (r->depth == JSON_DEPTH)
		return failed(r,
			err_set(e, ERR_BAD_FILE, "byte %llu: nested deeper than %d",
				(unsigned long long)json_offset(r), JSON_DEPTH));
	r->at++;
	r->is_object[r->depth++] = is_object;
	r->expect = is_object ? EXPECT_FIRST_KEY : EXPECT_FIRST_ITEM;
	*ret = is_object ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN;
	return 0;
}

/* At the bracket that ends the innermost container. */
static int close_container(struct json_reader *r, enum json_token *ret)
{
	r->at++;
	*ret = r->is_object[--r->depth] ? JSON_OBJECT_END : JSON_ARRAY_END;
	value_is_over(r);
	return 0;
}

/* `c` is the next byte, as next_byte returns it. */
static inline int read_value(struct json_reader *r, int c, enum json_token *ret, struct err *e)
{
	int status;

	switch (c) {
	case '{':
	case '[':
		return open_container(r, c == '{', ret, e);
	case '"':
		status = read_string(r, e);
		if (status == 0)
			*ret = JSON_STRING;
		break;
	case 't':
		status = read_word(r, "true", JSON_TRUE, ret, e);
		break;
	case 'f':
		status = read_word(r, "false", JSON_FALSE, ret, e);
		break;
	case 'n':
		status = read_word(r, "null", JSON_NULL, ret, e);
		break;
	default:
		if (c != '-' && (c < '0' || c > '9'))
			return fail(r, e,
				r->expect == EXPECT_FIRST_ITEM ? "a value or ']'" : "a value");
		status = read_number(r, ret, e);
	}
	if (status == 0)
		value_is_over(r);
	return status;
}

static inline int read_key(struct json_reader *r, int c, enum json_token *ret, struct err *e)
{
	int status;

	if (c != '"')
		return fail(r, e, r->expect == EXPECT_FIRST_KEY ? "a key or '}'" : "a key");
	status = read_string(r, e);
	if (status < 0)
		return status;
	r->expect = EXPECT_COLON;
	*ret = JSON_KEY;
	return 0;
}

/* After a value in a container. */
static inline int read_next_item(struct json_reader *r, int c, enum json_token *ret, struct err *e)
{
	bool is_object = r->is_object[r->depth - 1];

	if (c == (is_object ? '}' : ']'))
		return close_container(r, ret);
	if (c != ',')
		return fail(r, e, is_object ? "',' or '}'" : "',' or ']'");
	r->at++;
	c = next_byte(r);
	return is_object ? read_key(r, c, ret, e) : read_value(r, c, ret, e);
}

int json_next(struct json_reader *r, enum json_token *ret, struct err *e)
{
	int c;

	if (r->status < 0)
		return r->status;
	c = next_byte(r);
	switch ((enum expect)r->expect) {
	case EXPECT_SEPARATOR:
		return read_next_item(r, c, ret, e);
	case EXPECT_COLON:
		if (c != ':')
			return fail(r, e, "':'");
		r->at++;
		return read_value(r, next_byte(r), ret, e);
	case EXPECT_FIRST_KEY:
		return c == '}' ? close_container(r, ret) : read_key(r, c, ret, e);
	case EXPECT_FIRST_ITEM:
		return c == ']' ? close_container(r, ret) : read_value(r, c, ret, e);
	case EXPECT_VALUE:
		return read_value(r, c, ret, e);
	case EXPECT_END:
		if (c >= 0 || r->fill_failed)
			return fail(r, e, "the end of the input");
		*ret = JSON_END;
		return 0;
	}
	return r->status; /* not reached: all cases are above */
}

/* Where the next item of the array at hand begins; NULL where json_next must see to it. */
static const char *next_in_array(const struct json_reader *r)
{
	if (r->status < 0 || !r->depth || r->is_object[r->depth - 1] || r->at == r->end)
		return NULL;
	if (r->expect == EXPECT_SEPARATOR && *r->at == ',')
		return r->at + 1;
	return r->expect == EXPECT_FIRST_ITEM || r->expect == EXPECT_VALUE ? r->at : NULL;
}

static void took(struct json_reader *r, const char *to)
{
	r->at = to;
	r->expect = EXPECT_VALUE;
}

size_t json_take_u32s(struct json_reader *r, uint32_t *to, size_t n)
{
	const char *at = next_in_array(r);
	size_t taken = 0;

	if (!at)
		return 0;
	/* Ten bytes are nine digits and what ends them. */
	while (taken < n && r->end - at >= 10) {
		const char *begin = at;
		uint32_t value = 0;

		while (at - begin < 9 && is_digit(*at))
			value = value * 10 + (uint32_t)(*at++ - '0');
		if (at == begin || *at != ',' || (*begin == '0' && at - begin > 1)) {
			at = begin;
			break;
		}
		to[taken++] = value;
		at++;
	}
	if (taken)
		took(r, at);
	return taken;
}

/* Powers of ten that are exact. */
static const double powers[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

size_t json_take_doubles(struct json_reader *r, double *to, size_t n)
{
	enum { DIGITS = 15 }; /* so many are below 2^53: one division gives the nearest double */
	const char *at = next_in_array(r);
	size_t taken = 0;

	/* Those, a point, and what ends them. */
	while (at && taken < n && r->end - at >= DIGITS + 2) {
		const char *begin = at, *point = NULL;
		uint64_t digits = 0;

		for (; at - begin <= DIGITS; at++) {
			if (is_digit(*at))
				digits = digits * 10 + (uint64_t)(*at - '0');
			else if (*at == '.' && !point && at > begin)
				point = at;
			else
				break;
		}
		if (at == begin || *at != ',' || at - begin > DIGITS || at - 1 == point ||
			(*begin == '0' && at - begin > 1 && point != begin + 1)) {
			at = begin;
			break;
		}
		to[taken++] = (double)digits / powers[point ? at - point - 1 : 0];
		at++;
	}
	if (taken)
		took(r, at);
	return taken;
}

int json_skip(struct json_reader *r, struct err *e)
{
	bool is_begun = r->expect == EXPECT_FIRST_ITEM || r->expect == EXPECT_FIRST_KEY;
	bool is_over = r->expect == EXPECT_SEPARATOR || r->expect == EXPECT_END;
	unsigned outside = r->depth - is_begun;
	enum json_token t;
	int status = is_begun || is_over ? r->status : json_next(r, &t, e);

	while (status == 0 && r->depth > outside)
		status = json_next(r, &t, e);
	return status;
}

/* Reads digits into *value as long as it stays below 10^18; returns how many, *ret_more says
 * whether others follow. */
static size_t take_digits(const char *s, const char *end, uint64_t *value, bool *ret_more)
{
	const char *from = s;

	for (; s < end && is_digit(*s) && *value < 100000000000000000u; s++)
		*value = *value * 10 + (uint64_t)(*s - '0');
	*ret_more = s < end && is_digit(*s);
	return (size_t)(s - from);
}

/* The numbers files are full of, without strtod: up to 2^53 with a small power of ten, where both
 * factors are exact and one rounding gives the nearest double. False: not such a number. */
static bool short_double(const char *s, const char *end, double *ret_value)
{
	bool is_negative = *s == '-', more;
	uint64_t digits = 0;
	size_t after = 0;
	double value;

	s += is_negative;
	s += take_digits(s, end, &digits, &more);
	if (!more && s < end && *s == '.') {
		after = take_digits(s + 1, end, &digits, &more);
		s += 1 + after;
	}
	if (s < end || digits > (uint64_t)1 << 53 || after > 22)
		return false;
	value = (double)digits / powers[after];
	*ret_value = is_negative ? -value : value;
	return true;
}

double json_number_double(const struct json_reader *r)
{
	char text[JSON_NUMBER_TEXT + 1];
	double value;

	if (short_double(r->text, r->text + r->n, &value))
		return value;
	memcpy(text, r->text, r->n);
	text[r->n] = '\0';
	return strtod(text, NULL);
}

bool json_number_u64(const struct json_reader *r, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < r->n; i++)
		if (!is_digit(r->text[i]) || __builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(r->text[i] - '0'), &value))
			return false;
	*ret_value = value;
	return true;
}

bool json_number_i64(const struct json_reader *r, int64_t *ret_value)
{
	bool is_negative = r->text[0] == '-';
	int64_t value = 0;

	for (size_t i = is_negative; i < r->n; i++) {
		int digit = r->text[i] - '0';

		if (!is_digit(r->text[i]) || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_sub_overflow(value, digit, &value)) /* towards INT64_MIN */
			return false;
	}
	if (!is_negative && __builtin_sub_overflow(0, value, &value))
		return false;
	*ret_value = value;
	return true;
}
