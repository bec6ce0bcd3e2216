/* SPDX-License-Identifier: MIT
 *
 * Text for terminals: UTF-8 decoding, display width, cutting to a width, making foreign text safe
 * to print, and the "did you mean" distance. Independent of the locale (the tool is static). */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;

/* Decodes one character of s[0..n); returns the bytes used (at least 1 when n > 0). Invalid bytes
 * decode to U+FFFD, one byte at a time. */
size_t text_decode(const char *s, size_t n, uint32_t *ret_char);

/* Appends one character as UTF-8; what is none becomes U+FFFD. */
void text_add_char(struct buf *out, uint32_t c);

/* Appends text as valid UTF-8: bytes that are none become U+FFFD. */
void text_add_valid(struct buf *out, const char *s, size_t n);
bool text_is_ascii(const char *s, size_t n);

/* Columns the character or string takes on a terminal: 0 for combining marks, 2 for wide ones. */
int text_char_width(uint32_t c);
size_t text_width(const char *s);
size_t text_width_n(const char *s, size_t n);
/* Bytes of the longest start of s[0..n) that fits `width` columns. */
size_t text_fit(const char *s, size_t n, size_t width);

/* Columns where nothing needs to fit: a pipe, a file. Prose is wrapped nevertheless, to be read. */
#define TEXT_UNBOUNDED SIZE_MAX
enum { TEXT_PROSE = 80 };
static inline size_t text_prose_width(size_t width)
{
	return width == TEXT_UNBOUNDED ? (size_t)TEXT_PROSE : width;
}

enum text_cut {
	TEXT_CUT_END,    /* "long nam…": names, prose */
	TEXT_CUT_MIDDLE, /* "src/…/file.py": keeps both ends */
	TEXT_CUT_START,  /* "…dir/file.py:10": paths, the end says most */
};

/* Appends s, cut to at most `width` columns with one "…" where something was left out. */
void text_add_cut(struct buf *out, const char *s, size_t width, enum text_cut how);

/* Appends foreign text so that it cannot move the cursor or forge lines: control characters become
 * \n, \t, \xNN; invalid UTF-8 becomes U+FFFD. */
void text_add_printable(struct buf *out, const char *s, size_t n);

/* Appends one line, all of it made so, and its end: for lines that quote names and paths. */
void text_add_line(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether a character does something to a terminal: moves the cursor, ends a line, turns the writing direction. */
bool text_is_control(uint32_t c);

/* Appends text to a line of a file so that text_add_unescaped gives it back: control characters, invalid bytes and what
 * turns the writing direction become \n, \t, \xNN (a byte) or \uNNNN, and so do the characters of `also`; a backslash that
 * would be read as one of these becomes two. */
void text_add_escaped(struct buf *out, const char *s, size_t n, const char *also);
void text_add_unescaped(struct buf *out, const char *s, size_t n);

/* Appends argv as one line a POSIX shell would split again into the same words. */
void text_add_command(struct buf *out, char *const argv[]);

/* The other way: words as a POSIX shell would make of s (quotes and backslashes; nothing is expanded), ended by NULL, in the
 * arena. NULL when a quote is not closed or there is no word. */
char **text_split_command(struct arena *a, const char *s);

/* Edits (insert, delete, replace, swap of neighbours) from a to b; strings over 63 bytes count as
 * far. */
unsigned text_distance(const char *a, const char *b);

/* Whether s is longer than `end` and ends so. */
bool text_ends_with(const char *s, const char *end);

/* Parses all of s as an unsigned decimal number with an optional k, M or G (powers of 1000). */
bool text_parse_u64(const char *s, uint64_t *ret_value);

/* Parses all of s as a time: "10", "1.5s", "200ms", "10m", "2h"; plain numbers are seconds. */
bool text_parse_duration_ns(const char *s, uint64_t *ret_ns);

#endif
