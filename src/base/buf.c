/* SPDX-License-Identifier: MIT
 * See buf.h. */
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/xalloc.h"
#include "base/banned.h"

void *buf_reserve(struct buf *b, size_t n_bytes)
{
	size_t need = b->n + n_bytes + 1;

	if (need > b->capacity) {
		size_t want = b->capacity ? b->capacity * 2 : 64;

		b->capacity = want < need ? need : want;
		b->data = xrealloc(b->data, b->capacity, 1);
	}
	return b->data + b->n;
}

void buf_advance(struct buf *b, size_t n_bytes)
{
	b->n += n_bytes;
	b->data[b->n] = '\0';
}

void buf_add(struct buf *b, const void *p, size_t n_bytes)
{
	void *to = buf_reserve(b, n_bytes);

	if (n_bytes)
		memcpy(to, p, n_bytes);
	buf_advance(b, n_bytes);
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_fill(struct buf *b, char c, size_t times)
{
	memset(buf_reserve(b, times), c, times);
	buf_advance(b, times);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n > 0) {
		vsnprintf(buf_reserve(b, (size_t)n), (size_t)n + 1, fmt, again);
		buf_advance(b, (size_t)n);
	}
	va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	if (b->data)
		b->data[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT;
}

int buf_load(struct buf *b, const char *path, size_t limit_bytes, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", path);
	do {
		got = read(fd, buf_reserve(b, 16384), 16384);
		if (got > 0)
			buf_advance(b, (size_t)got);
	} while ((got > 0 && b->n <= limit_bytes) || (got < 0 && errno == EINTR));
	if (got < 0)
		err_errno(e, ERR_SYSTEM, "%s", path);
	else if (b->n > limit_bytes)
		err_set(e, ERR_BAD_FILE, "%s: larger than %zu bytes", path, limit_bytes);
	close(fd);
	return got < 0 || b->n > limit_bytes ? -(int)e->code : 0;
}

int buf_write(const struct buf *b, int fd, struct err *e)
{
	size_t done = 0;

	while (done < b->n) {
		ssize_t put = write(fd, b->data + done, b->n - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return err_errno(e, ERR_SYSTEM, "write");
		done += (size_t)put;
	}
	return 0;
}

int buf_save(const struct buf *b, const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int status;

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", path);
	status = buf_write(b, fd, e);
	if (close(fd) < 0 && status == 0)
		status = err_errno(e, ERR_SYSTEM, "write");
	return status < 0 ? err_note(e, "%s", path) : 0;
}
