/* SPDX-License-Identifier: MIT
 *
 * JSON reader: pulls one token at a time out of a file of any size, in memory bounded by one window
 * (128 KiB) and the longest string. Strict RFC 8259: one value, no comments, no trailing commas, no
 * leading zeros, no raw control characters in strings, no byte order mark. Two mercies, both ending
 * as U+FFFD: lone surrogates in \u escapes, and bytes that are not UTF-8. So the text handed out is
 * always valid UTF-8 (it may hold NULs and control characters: see text_add_printable).
 *
 * The reader sees to the order of tokens, so its user may rely on it: KEY only in objects, each
 * followed by its value; every BEGIN has its END; JSON_END last, again and again. Equal keys in one
 * object are not noticed. Limits, beyond which there is an error: limit_bytes for a string,
 * JSON_NUMBER_TEXT bytes for a number, JSON_DEPTH for nesting.
 *
 * Errors are ERR_BAD_FILE: "byte 17: expected ',' or '}', not 'x'". A fill that fails is ERR_SYSTEM
 * ("byte 17: reading failed"; why, its ctx may remember). After an error every call returns the
 * same code again and leaves the error's text alone.
 *
 *	struct json_reader r;
 *	enum json_token t;
 *
 *	json_reader_init(&r, json_fill_fd, &fd);
 *	while ((status = json_next(&r, &t, e)) == 0 && t != JSON_END) {
 *		if (t == JSON_KEY && json_text_is(&r, "ts"))
 *			want_ts = true;
 *		else if (t == JSON_KEY)
 *			status = json_skip(&r, e);
 *		...
 *	}
 *	json_reader_done(&r);
 */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

struct err;

enum json_token {
	JSON_END, /* of the input, after the one value */
	JSON_OBJECT_BEGIN,
	JSON_OBJECT_END,
	JSON_ARRAY_BEGIN,
	JSON_ARRAY_END,
	JSON_KEY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
};

enum { JSON_DEPTH = 256, JSON_NUMBER_TEXT = 1024, JSON_STRING_LIMIT = 16 << 20 };

struct json_reader {
	/* Of the last KEY or STRING (decoded) or NUMBER (as written). Borrowed, valid until the
	 * next call of json_next or json_skip; not followed by a NUL. */
	const char *text;
	size_t n; /* bytes of text */

	size_t limit_bytes; /* of one string; JSON_STRING_LIMIT, may be changed after init */

	/* private */
	int (*fill)(void *ctx, void *to, size_t n); /* NULL: all input is in memory */
	void *ctx;
	const char *at, *end;   /* bytes not yet read, in window or in the caller's memory */
	char *window;           /* owned; NULL before the first fill */
	uint64_t end_offset;    /* in the input, of `end` */
	struct buf decoded;     /* text that could not be borrowed from the window */
	uint64_t string_offset; /* in the input, of the quote that began the string being decoded */
	bool fill_ended, fill_failed;
	int status;                 /* 0, or what failed */
	unsigned char expect;       /* enum expect, in json_read.c */
	unsigned depth;             /* containers open */
	bool is_object[JSON_DEPTH]; /* of the open containers, outermost first */
};

/* fill puts 1 to n bytes at `to` and returns how many; 0 at the end, negative on failure. */
void json_reader_init(struct json_reader *r, int (*fill)(void *ctx, void *to, size_t n), void *ctx);
/* Reads from the caller's memory, which must live until json_reader_done. */
void json_reader_init_memory(struct json_reader *r, const void *p, size_t n);
void json_reader_done(struct json_reader *r);

/* A fill for descriptors; ctx points to an int. */
int json_fill_fd(void *ctx, void *to, size_t n);

/* The next token. */
int json_next(struct json_reader *r, enum json_token *ret, struct err *e);

/* After a KEY (or before the first token): reads over the value that follows. After a BEGIN: reads
 * over the rest of that container and its END. After anything else there is nothing to skip. */
int json_skip(struct json_reader *r, struct err *e);

/* In an array, before the next token: takes whole numbers of up to nine digits that are followed by a comma without blanks, at
 * most n of them, as far as they are at hand; returns how many. What comes after is json_next's: the last number of an array
 * always is. Makes long arrays of small numbers three times as fast. */
size_t json_take_u32s(struct json_reader *r, uint32_t *to, size_t n);

/* The same for numbers of up to fifteen digits, with or without a fraction. */
size_t json_take_doubles(struct json_reader *r, double *to, size_t n);

/* Bytes of input read so far, for progress. */
uint64_t json_offset(const struct json_reader *r);

/* Whether the text of the last token is s. */
static inline bool json_text_is(const struct json_reader *r, const char *s)
{
	size_t n = strlen(s);

	return r->n == n && memcmp(r->text, s, n) == 0;
}

/* Copies as much of the text of the last token as fits, and a NUL; size is not 0. */
void json_copy_text(const struct json_reader *r, char *to, size_t size);

/* The value of the last NUMBER: the nearest double (infinite where there is none). */
double json_number_double(const struct json_reader *r);
/* False for numbers with a fraction or an exponent, and for those out of range. */
bool json_number_i64(const struct json_reader *r, int64_t *ret_value);
bool json_number_u64(const struct json_reader *r, uint64_t *ret_value);

#endif
