/* SPDX-License-Identifier: MIT
 *
 * Reads JSON that should be strict and often is not, fast: one value at a time out of a window of the file, with
 * pointers into it instead of copies. What it forgives: unescaped quotes in texts, raw control characters, words such
 * as nan where a number belongs, commas too many. Its user parses a whole item (an event), and when the window ends
 * within it asks for more and begins the item again.
 *
 * base/json_read is the strict reader of everything else; traces of some GB need three times its speed. */
#ifndef FORMATS_TORCH_SCAN_H
#define FORMATS_TORCH_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input;

enum { TORCH_SCAN_ITEM = 64 << 20 }; /* longest item, bytes */

enum scan_status {
	SCAN_OK,
	SCAN_MORE, /* the window ends within the item */
	SCAN_BAD,  /* this is not JSON */
};

struct scan {
	const char *at, *end; /* what is left of the window; *end is a NUL */
	enum scan_status status;
	bool is_careful;     /* a quote ends a text only where JSON goes on after it */
	uint64_t n_forgiven; /* words, commas and quotes that JSON does not have */
};

struct scan_text { /* a piece of the window, as written */
	const char *p;
	size_t n;
	bool has_escapes;
};

/* The window of a file. */
struct scan_window {
	struct input *in;
	char *data; /* owned */
	size_t n, capacity;
	size_t at;       /* what was not taken yet begins there */
	uint64_t offset; /* of data[0] in the file */
	bool has_ended, has_failed;
};

void scan_window_init(struct scan_window *w, struct input *in);
void scan_window_done(struct scan_window *w);
/* Makes the window longer; false at the end of the file, on failure, or where an item is too long. */
bool scan_window_more(struct scan_window *w);
/* A scan of what is there. */
struct scan scan_begin(const struct scan_window *w);

/* After blanks: the next character without taking it; 0 at the end (status says so). */
char scan_peek(struct scan *s);
/* Takes c where it is next. */
bool scan_take(struct scan *s, char c);
/* A text in quotes. */
bool scan_text(struct scan *s, struct scan_text *ret);
/* In an object, after '{' or a value: takes the next key and its colon; false at the '}', which is taken too. */
bool scan_key(struct scan *s, struct scan_text *ret, bool is_first);
/* Any value, as written. */
bool scan_value(struct scan *s, struct scan_text *ret);

/* Here, so that it is a comparison of constants. */
static inline bool scan_is(const struct scan_text *t, const char *word)
{
	return t->n == strlen(word) && memcmp(t->p, word, strlen(word)) == 0;
}

/* Whole numbers; false for anything else. */
bool scan_i64(const struct scan_text *t, int64_t *ret);
/* A decimal number in thousandths, rounded: µs as ns. */
bool scan_milli(const struct scan_text *t, int64_t *ret);
/* The sum of two, rounded once, so that what lies in each other still does afterwards; b may be no number, or negative: 0
 * then. What is beyond 9e18 ends there. */
bool scan_milli_sum(const struct scan_text *a, const struct scan_text *b, int64_t *ret);
/* A text or a number, not a word or something nested. Only of values that scan_value took. */
bool scan_is_scalar(const struct scan_text *t);

struct buf;
/* Appends a text with its escapes undone. */
void scan_decode(const struct scan_text *t, struct buf *out);

#endif
