/* SPDX-License-Identifier: MIT
 * See text.h. The width ranges are the Unicode blocks that terminals draw wide or with no width;
 * rare scripts may be off by a column, never by bytes. */
#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/banned.h"

static const char ELLIPSIS[] = "\xe2\x80\xa6";

size_t text_decode(const char *s, size_t n, uint32_t *ret_char)
{
	const unsigned char *u = (const unsigned char *)s;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = u[0] < 0x80 ? 1
		: u[0] >> 5 == 6    ? 2
		: u[0] >> 4 == 14   ? 3
		: u[0] >> 3 == 30   ? 4
				    : 0;
	uint32_t c;

	*ret_char = 0xfffd;
	if (length == 0 || length > n)
		return 1;
	c = length == 1 ? u[0] : u[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if (u[i] >> 6 != 2)
			return 1;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 1;
	*ret_char = c;
	return length;
}

void text_add_char(struct buf *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		buf_addc(out, (char)c);
	} else if (c < 0x800) {
		buf_addc(out, (char)(0xc0 | c >> 6));
		buf_addc(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_addc(out, (char)(0xe0 | c >> 12));
		buf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_addc(out, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_addc(out, (char)(0xf0 | c >> 18));
		buf_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_addc(out, (char)(0x80 | (c & 0x3f)));
	}
}

void text_add_valid(struct buf *out, const char *s, size_t n)
{
	uint32_t c;

	for (size_t at = 0; at < n;) {
		at += text_decode(s + at, n - at, &c);
		text_add_char(out, c);
	}
}

bool text_is_ascii(const char *s, size_t n)
{
	unsigned char all = 0;

	for (size_t i = 0; i < n; i++)
		all |= (unsigned char)s[i];
	return all < 0x80;
}

struct range {
	uint32_t first, last;
};

static const struct range no_width[] = {
	{ 0x0300, 0x036f },
	{ 0x0483, 0x0489 },
	{ 0x0591, 0x05bd },
	{ 0x0610, 0x061a },
	{ 0x064b, 0x065f },
	{ 0x0900, 0x0902 },
	{ 0x093c, 0x093c },
	{ 0x0941, 0x0948 },
	{ 0x1ab0, 0x1aff },
	{ 0x1dc0, 0x1dff },
	{ 0x200b, 0x200f },
	{ 0x202a, 0x202e },
	{ 0x2060, 0x2064 },
	{ 0x20d0, 0x20ff },
	{ 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f },
	{ 0xfeff, 0xfeff },
	{ 0xe0100, 0xe01ef },
};
static const struct range wide[] = {
	{ 0x1100, 0x115f },
	{ 0x231a, 0x231b },
	{ 0x2329, 0x232a },
	{ 0x23e9, 0x23ec },
	{ 0x25fd, 0x25fe },
	{ 0x2614, 0x2615 },
	{ 0x26a1, 0x26a1 },
	{ 0x2705, 0x2705 },
	{ 0x270a, 0x270b },
	{ 0x2728, 0x2728 },
	{ 0x274c, 0x274c },
	{ 0x2753, 0x2755 },
	{ 0x2757, 0x2757 },
	{ 0x2795, 0x2797 },
	{ 0x2b1b, 0x2b1c },
	{ 0x2b50, 0x2b50 },
	{ 0x2e80, 0x303e },
	{ 0x3041, 0x33ff },
	{ 0x3400, 0x4dbf },
	{ 0x4e00, 0x9fff },
	{ 0xa000, 0xa4cf },
	{ 0xa960, 0xa97f },
	{ 0xac00, 0xd7a3 },
	{ 0xf900, 0xfaff },
	{ 0xfe10, 0xfe19 },
	{ 0xfe30, 0xfe6f },
	{ 0xff00, 0xff60 },
	{ 0xffe0, 0xffe6 },
	{ 0x1f004, 0x1f004 },
	{ 0x1f0cf, 0x1f0cf },
	{ 0x1f18e, 0x1f19a },
	{ 0x1f200, 0x1f320 },
	{ 0x1f32d, 0x1f64f },
	{ 0x1f680, 0x1f6ff },
	{ 0x1f7e0, 0x1f7eb },
	{ 0x1f900, 0x1f9ff },
	{ 0x1fa70, 0x1faff },
	{ 0x20000, 0x2fffd },
	{ 0x30000, 0x3fffd },
};

static bool is_in(const struct range *r, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n && c >= r[i].first; i++)
		if (c <= r[i].last)
			return true;
	return false;
}

int text_char_width(uint32_t c)
{
	if (c < 0x300)
		return c >= 0x20 && (c < 0x7f || c >= 0xa0);
	if (is_in(no_width, sizeof no_width / sizeof *no_width, c))
		return 0;
	return is_in(wide, sizeof wide / sizeof *wide, c) ? 2 : 1;
}

size_t text_width_n(const char *s, size_t n)
{
	size_t width = 0;
	uint32_t c;

	for (size_t at = 0; at < n;) {
		at += text_decode(s + at, n - at, &c);
		width += (size_t)text_char_width(c);
	}
	return width;
}

size_t text_width(const char *s)
{
	return text_width_n(s, strlen(s));
}

size_t text_fit(const char *s, size_t n, size_t width)
{
	size_t at = 0, used = 0;
	uint32_t c;

	while (at < n) {
		size_t step = text_decode(s + at, n - at, &c);

		used += (size_t)text_char_width(c);
		if (used > width)
			break;
		at += step;
	}
	return at;
}

/* Where the longest end of s[0..n) that fits `width` columns begins. */
static size_t fit_end(const char *s, size_t n, size_t width)
{
	size_t total = text_width_n(s, n), at = 0;
	uint32_t c;

	while (at < n && total > width) {
		at += text_decode(s + at, n - at, &c);
		total -= (size_t)text_char_width(c);
	}
	while (at < n && text_decode(s + at, n - at, &c) && text_char_width(c) == 0)
		at += text_decode(s + at, n - at, &c); /* a mark without its letter */
	return at;
}

void text_add_cut(struct buf *out, const char *s, size_t width, enum text_cut how)
{
	size_t n = strlen(s), head = 0, tail = 0;

	if (text_width_n(s, n) <= width) {
		buf_add(out, s, n);
		return;
	}
	if (width == 0)
		return;
	switch (how) {
	case TEXT_CUT_END:
		head = width - 1;
		break;
	case TEXT_CUT_MIDDLE:
		tail = width / 2;
		head = width - 1 - tail;
		break;
	case TEXT_CUT_START:
		tail = width - 1;
		break;
	}
	buf_add(out, s, text_fit(s, n, head));
	buf_adds(out, ELLIPSIS);
	if (tail) {
		size_t from = fit_end(s, n, tail);

		buf_add(out, s + from, n - from);
	}
}

/* What turns the writing direction, or ends a line in some terminals and editors. */
static bool is_unruly(uint32_t c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
		(c >= 0x2066 && c <= 0x2069);
}

bool text_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || is_unruly(c);
}

void text_add_printable(struct buf *out, const char *s, size_t n)
{
	uint32_t c;

	for (size_t at = 0; at < n;) {
		size_t step = text_decode(s + at, n - at, &c);

		if (c == '\n')
			buf_adds(out, "\\n");
		else if (c == '\t')
			buf_adds(out, "\\t");
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			buf_printf(out, "\\x%02x", c);
		else if (c == 0xfffd || is_unruly(c))
			buf_adds(out, "\xef\xbf\xbd");
		else
			buf_add(out, s + at, step);
		at += step;
	}
}

void text_add_line(struct buf *out, const char *fmt, ...)
{
	struct buf text = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	text_add_printable(out, buf_str(&text), text.n);
	buf_addc(out, '\n');
	buf_done(&text);
}

/* How many bytes the next character is, and whether it becomes an escape, as bytes that are no character do. */
static size_t next_char(
	const char *s, size_t n, const char *also, uint32_t *ret_char, bool *ret_is_escaped)
{
	size_t step = text_decode(s, n, ret_char);
	uint32_t c = *ret_char;

	*ret_is_escaped = text_is_control(c) || (c == 0xfffd && step == 1) ||
		(c < 0x80 && strchr(also, (int)c));
	return step;
}

/* Whether a backslash before this would be read as the begin of an escape. */
static bool is_taken(const char *s, size_t n, const char *also)
{
	bool is_escaped;
	uint32_t c;

	if (!n)
		return true;
	next_char(s, n, also, &c, &is_escaped);
	return is_escaped || (c < 0x80 && strchr("\\ntxu", (int)c));
}

void text_add_escaped(struct buf *out, const char *s, size_t n, const char *also)
{
	bool is_escaped;
	uint32_t c;

	for (size_t at = 0, step; at < n; at += step) {
		step = next_char(s + at, n - at, also, &c, &is_escaped);
		if (c == '\\')
			buf_adds(out, is_taken(s + at + 1, n - at - 1, also) ? "\\\\" : "\\");
		else if (c == '\n')
			buf_adds(out, "\\n");
		else if (c == '\t')
			buf_adds(out, "\\t");
		else if (is_escaped && (c < 0x80 || c == 0xfffd))
			buf_printf(out, "\\x%02x", (unsigned char)s[at]);
		else if (is_escaped)
			buf_printf(out, "\\u%04x", c);
		else
			buf_add(out, s + at, step);
	}
}

/* The number of n hex digits; -1 when there are none. */
static int32_t hex_at(const char *s, size_t left, size_t n)
{
	int32_t value = 0;

	for (size_t i = 0; i < n; i++) {
		char c = i < left ? s[i] : '\0';
		int digit = c >= '0' && c <= '9' ? c - '0'
			: c >= 'a' && c <= 'f'   ? c - 'a' + 10
						 : -1;

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

void text_add_unescaped(struct buf *out, const char *s, size_t n)
{
	for (size_t at = 0; at < n; at++) {
		char letter = s[at] == '\\' && at + 1 < n ? s[at + 1] : '\0';
		int32_t c = letter == 'x' ? hex_at(s + at + 2, n - at - 2, 2)
			: letter == 'u'   ? hex_at(s + at + 2, n - at - 2, 4)
					  : -1;

		if (letter == '\\' || letter == 'n' || letter == 't')
			buf_addc(out, letter == 'n' ? '\n' : letter == 't' ? '\t' : '\\');
		else if (letter == 'x' && c >= 0)
			buf_addc(out, (char)c);
		else if (letter == 'u' && c >= 0)
			text_add_char(out, (uint32_t)c);
		else
			buf_addc(out, s[at]);
		if (c >= 0)
			at += letter == 'x' ? 3 : 5;
		else if (letter == '\\' || letter == 'n' || letter == 't')
			at++;
	}
}

static void add_word(struct buf *out, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";

	if (*word && word[strspn(word, plain)] == '\0') {
		buf_adds(out, word);
		return;
	}
	buf_addc(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_adds(out, "'\\''");
		else
			buf_addc(out, *word);
	buf_addc(out, '\'');
}

void text_add_command(struct buf *out, char *const argv[])
{
	for (size_t i = 0; argv[i]; i++) {
		if (i)
			buf_addc(out, ' ');
		add_word(out, argv[i]);
	}
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

bool text_ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && strcmp(s + n - m, end) == 0;
}

/* Appends one word of s; where it ends, or NULL when a quote is not closed. */
static const char *split_word(const char *s, struct buf *word)
{
	char quote = '\0';

	for (; *s && (quote || !strchr(" \t\n", *s)); s++) {
		if (quote == '\'' && *s != quote)
			buf_addc(word, *s);
		else if (*s == quote)
			quote = '\0';
		else if (!quote && (*s == '\'' || *s == '"'))
			quote = *s;
		else if (*s == '\\' && s[1] && (!quote || strchr("\"\\$`", s[1])))
			buf_addc(word, *++s);
		else
			buf_addc(word, *s);
	}
	return quote ? NULL : s;
}

char **text_split_command(struct arena *a, const char *s)
{
	char **words = arena_new_n(a, char *, strlen(s) / 2 + 2);
	struct buf word = BUF_INIT;
	size_t n = 0;

	for (s += strspn(s, " \t\n"); s && *s; s += s ? strspn(s, " \t\n") : 0) {
		buf_clear(&word);
		s = split_word(s, &word);
		if (!s)
			break;
		words[n++] = arena_strdup(a, buf_str(&word));
	}
	buf_done(&word);
	return s && n ? words : NULL;
}

unsigned text_distance(const char *a, const char *b)
{
	enum { MOST = 63 };
	size_t na = strlen(a), nb = strlen(b);
	unsigned row[3][MOST + 1]; /* two rows back (for swaps), previous, current; taken in turn */

	if (na > MOST || nb > MOST)
		return MOST;
	for (size_t j = 0; j <= nb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *now = row[i % 3], *before = row[(i + 2) % 3], *older = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			now[j] = least(before[j - 1] + (a[i - 1] != b[j - 1]),
				1 + least(before[j], now[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], older[j - 2] + 1);
		}
	}
	return row[na % 3][nb];
}

bool text_parse_u64(const char *s, uint64_t *ret_value)
{
	uint64_t value = 0, factor = 1;

	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
			return false;
	if (*s == 'k' || *s == 'M' || *s == 'G') {
		factor = *s == 'k' ? 1000 : *s == 'M' ? 1000000 : 1000000000;
		s++;
	}
	if (*s || __builtin_mul_overflow(value, factor, &value))
		return false;
	*ret_value = value;
	return true;
}

bool text_parse_duration_ns(const char *s, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "m", 60e9 },
		{ "min", 60e9 }, { "h", 3600e9 } };
	char *end;
	double value;

	if (*s < '0' || *s > '9')
		return false;
	value = strtod(s, &end);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (!(value * units[i].ns < 1e18))
			return false;
		*ret_ns = (uint64_t)(value * units[i].ns + 0.5);
		return true;
	}
	return false;
}
