/* SPDX-License-Identifier: MIT
 * See sink.h. */
#include "formats/sink.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/xalloc.h"
#include "formats/format.h"
#include "base/banned.h"

enum { WINDOW = 15, AS_GZIP = 16, MEMORY = 8 };

void sink_init(struct sink *s, int fd)
{
	*s = (struct sink){ .fd = fd, .options = &format_defaults };
}

const char *sink_damage(const struct sink *s)
{
	return s->options && s->options->damage ? s->options->damage : "";
}

void sink_gzip(struct sink *s)
{
	s->gzip = xcalloc(1, sizeof *s->gzip);
	if (deflateInit2(s->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW + AS_GZIP, MEMORY,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		err_set(&s->error, ERR_SYSTEM, "zlib cannot compress");
}

static void write_out(struct sink *s, struct buf *what)
{
	if (s->fd < 0)
		return;
	if (!s->error.code && buf_write(what, s->fd, &s->error) == 0)
		s->n_written += what->n;
	buf_clear(what);
}

static void pack(struct sink *s, int how)
{
	int status;

	s->gzip->next_in = (void *)s->text.data;
	s->gzip->avail_in = (uInt)s->text.n;
	do {
		s->gzip->next_out = buf_reserve(&s->packed, SINK_BYTES);
		s->gzip->avail_out = SINK_BYTES;
		status = deflate(s->gzip, how);
		buf_advance(&s->packed, SINK_BYTES - s->gzip->avail_out);
		if (s->packed.n >= SINK_BYTES)
			write_out(s, &s->packed);
	} while (s->gzip->avail_in || (how == Z_FINISH && status == Z_OK));
	buf_clear(&s->text);
}

void sink_flush(struct sink *s)
{
	if (s->text.n < SINK_BYTES)
		return;
	if (s->gzip && !s->error.code)
		pack(s, Z_NO_FLUSH);
	else
		write_out(s, &s->text);
}

int sink_finish(struct sink *s, struct err *e)
{
	if (s->gzip && !s->error.code) {
		pack(s, Z_FINISH);
		write_out(s, &s->packed);
	}
	write_out(s, &s->text);
	if (!s->error.code)
		return 0;
	*e = s->error;
	return -(int)e->code;
}

void sink_done(struct sink *s)
{
	if (s->gzip)
		deflateEnd(s->gzip);
	free(s->gzip);
	buf_done(&s->packed);
	buf_done(&s->text);
}

void sink_add_u64(struct buf *out, char before, uint64_t value)
{
	sink_add_fixed(out, before, value, 0);
}

void sink_add_fixed(struct buf *out, char before, uint64_t value, unsigned decimals)
{
	char digits[48], *at = digits + sizeof digits;

	for (; decimals && value % 10 == 0; decimals--)
		value /= 10;
	for (unsigned i = 0; i < decimals; i++, value /= 10)
		*--at = (char)('0' + value % 10);
	if (decimals)
		*--at = '.';
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	*--at = before;
	buf_add(out, at, (size_t)(digits + sizeof digits - at));
}
