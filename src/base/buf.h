/* SPDX-License-Identifier: MIT
 *
 * Growing byte buffer. `data` is always followed by a NUL that does not count, so a buffer of text
 * may be used as a C string (buf_str). Owns its memory until buf_done; buf_clear keeps it for
 * reuse.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct err;

struct buf {
	char *data; /* owned; NULL while nothing was added */
	size_t n;   /* bytes in use */
	size_t capacity;
};

#define BUF_INIT ((struct buf){ 0 })

/* Returns a pointer to n_bytes of writable room at the end; buf_advance says how many were used. */
void *buf_reserve(struct buf *b, size_t n_bytes);
void buf_advance(struct buf *b, size_t n_bytes);

void buf_add(struct buf *b, const void *p, size_t n_bytes);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_fill(struct buf *b, char c, size_t times);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap);

/* The text, "" when empty. Borrowed, valid until the next change. */
const char *buf_str(const struct buf *b);

void buf_clear(struct buf *b);
void buf_done(struct buf *b);

/* Reads a whole file, at most limit_bytes (more is an error). Files of /proc, whose size is 0,
 * work. */
int buf_load(struct buf *b, const char *path, size_t limit_bytes, struct err *e);
/* Writes all of it to a descriptor, going on after short writes and EINTR. */
int buf_write(const struct buf *b, int fd, struct err *e);
/* Creates or replaces a file of our own, in a folder of ours: for nobody else, and through no link. What users get: base/outfile.h. */
int buf_save(const struct buf *b, const char *path, struct err *e);

#endif
