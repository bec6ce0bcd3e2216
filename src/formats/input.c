/* SPDX-License-Identifier: MIT
 * See input.h. */
#include "formats/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/err.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum { PIECE = 256 << 10, ANY_WINDOW = 15 + 32 };

static ssize_t read_some(struct input *in, struct buf *to)
{
	ssize_t n;

	do
		n = read(in->fd, buf_reserve(to, PIECE), PIECE);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		in->sys = errno;
	else
		buf_advance(to, (size_t)n);
	in->n_read += n > 0 ? (uint64_t)n : 0;
	budget_grow(&in->budget, in->n_read);
	return n;
}

static void begin_gzip(struct input *in)
{
	struct buf begun = in->window;

	in->gzip = xcalloc(1, sizeof *in->gzip);
	if (inflateInit2(in->gzip, ANY_WINDOW) != Z_OK)
		in->is_bad_gzip = true;
	in->window = in->raw;
	in->raw = begun;
	in->gzip->next_in = (void *)in->raw.data;
	in->gzip->avail_in = (uInt)in->raw.n;
}

/* Members follow one another: gzip files may be joined. */
static void inflate_some(struct input *in)
{
	int status;

	if (!in->gzip->avail_in) {
		buf_clear(&in->raw);
		if (read_some(in, &in->raw) <= 0) {
			in->is_bad_gzip |= !in->sys; /* it ends within a member */
			in->has_ended = true;
			return;
		}
		in->gzip->next_in = (void *)in->raw.data;
		in->gzip->avail_in = (uInt)in->raw.n;
	}
	in->gzip->next_out = buf_reserve(&in->window, PIECE);
	in->gzip->avail_out = PIECE;
	status = inflate(in->gzip, Z_NO_FLUSH);
	buf_advance(&in->window, PIECE - in->gzip->avail_out);
	budget_take(&in->budget, PIECE - in->gzip->avail_out);
	if (status == Z_STREAM_END) {
		if (!in->gzip->avail_in) {
			buf_clear(&in->raw);
			if (read_some(in, &in->raw) <= 0) {
				in->has_ended = true;
				return;
			}
			in->gzip->next_in = (void *)in->raw.data;
			in->gzip->avail_in = (uInt)in->raw.n;
		}
		status = inflateReset(in->gzip);
	}
	if (status != Z_OK && status != Z_BUF_ERROR) {
		in->is_bad_gzip = true;
		in->has_ended = true;
	}
}

/* Makes the window longer; what was handed out is forgotten first. */
static void more(struct input *in)
{
	if (in->at && in->at == in->window.n) {
		buf_clear(&in->window);
		in->at = 0;
	} else if (in->at > PIECE) {
		memmove(in->window.data, in->window.data + in->at, in->window.n - in->at);
		in->window.n -= in->at;
		in->at = 0;
	}
	if (!budget_is_kept(&in->budget))
		in->has_ended = true;
	else if (in->gzip)
		inflate_some(in);
	else if (read_some(in, &in->window) <= 0)
		in->has_ended = true;
}

void input_init(struct input *in, int fd)
{
	struct stat st;

	*in = (struct input){ .fd = fd, .budget = budget_for(0) };
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		budget_grow(&in->budget, (uint64_t)st.st_size);
	more(in);
	if (in->window.n > 2 && memcmp(in->window.data, "\x1f\x8b\x08", 3) == 0)
		begin_gzip(in);
}

void input_done(struct input *in)
{
	if (in->gzip)
		inflateEnd(in->gzip);
	free(in->gzip);
	buf_done(&in->raw);
	buf_done(&in->window);
	if (in->fd >= 0)
		close(in->fd);
}

int input_rewind(struct input *in, struct err *e)
{
	int fd = in->fd;

	if (lseek(fd, 0, SEEK_SET) != 0)
		return err_errno(e, ERR_SYSTEM, "it must be read twice");
	in->fd = -1;
	input_done(in);
	input_init(in, fd);
	return 0;
}

const char *input_head(struct input *in, size_t n, size_t *ret_n)
{
	while (!in->has_ended && in->window.n - in->at < n)
		more(in);
	*ret_n = in->window.n - in->at < n ? in->window.n - in->at : n;
	return buf_str(&in->window) + in->at;
}

int input_fill(void *ctx, void *to, size_t n)
{
	struct input *in = ctx;

	while (!in->has_ended && in->at == in->window.n)
		more(in);
	if (in->sys || in->is_bad_gzip || !budget_is_kept(&in->budget))
		return -1;
	n = n < in->window.n - in->at ? n : in->window.n - in->at;
	if (n)
		memcpy(to, in->window.data + in->at, n);
	in->at += n;
	in->n_bytes += n;
	return (int)n;
}

int input_error(const struct input *in, struct err *e)
{
	if (in->sys) {
		errno = in->sys;
		return err_errno(e, ERR_SYSTEM, "reading");
	}
	if (!budget_is_kept(&in->budget))
		return budget_error(&in->budget, e);
	if (in->is_bad_gzip)
		return err_set(e, ERR_BAD_FILE, "the gzip data ends early or is damaged");
	return 0;
}

int input_line(struct input *in, char **ret, size_t *ret_n, struct err *e)
{
	size_t searched = 0, n;
	char *end = NULL;

	for (;;) {
		char *from = in->window.data ? in->window.data + in->at : NULL;

		n = in->window.n - in->at;
		end = from ? memchr(from + searched, '\n', n - searched) : NULL;
		if (end || in->has_ended)
			break;
		if (n > INPUT_LINE)
			return err_set(e, ERR_BAD_FILE, "line %llu is longer than 1 MiB",
				(unsigned long long)in->n_lines + 1);
		searched = n;
		more(in);
	}
	if (input_error(in, e) < 0)
		return -(int)e->code;
	if (!end && n == 0)
		return 0;
	*ret = in->window.data + in->at;
	*ret_n = end ? (size_t)(end - *ret) : n;
	in->at += *ret_n + (end != NULL);
	in->n_bytes += *ret_n + (end != NULL);
	in->n_lines++;
	if (*ret_n && (*ret)[*ret_n - 1] == '\r')
		--*ret_n;
	(*ret)[*ret_n] = '\0';
	return 1;
}

int input_load(struct input *in, struct buf *to, size_t limit_bytes, struct err *e)
{
	for (;;) {
		int n = input_fill(in, buf_reserve(to, PIECE), PIECE);

		if (n < 0)
			return input_error(in, e);
		if (n == 0)
			return 0;
		buf_advance(to, (size_t)n);
		if (to->n > limit_bytes)
			return err_set(
				e, ERR_BAD_FILE, "it is longer than %zu MiB", limit_bytes >> 20);
	}
}
