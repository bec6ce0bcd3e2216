/* SPDX-License-Identifier: MIT
 * See regions_file.h. */
#include "collect/samples/regions_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/rows.h"
#include "store/writer.h"
#include "wire/records.h"
#include "base/banned.h"

enum { PIECE_BYTES = 1 << 18, LINE_MOST = 4096, N_NUMBERS = 5 };

int regions_file_open(struct regions_file *r, const char *dir, struct err *e)
{
	struct buf path = BUF_INIT;

	buf_printf(&path, "%s/regions", dir);
	r->fd = open(buf_str(&path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r->fd < 0)
		err_errno(e, ERR_SYSTEM, "%s", buf_str(&path));
	buf_done(&path);
	return r->fd < 0 ? -(int)e->code : 0;
}

static bool parse_numbers(const char **at, uint64_t ret[N_NUMBERS])
{
	for (int i = 0; i < N_NUMBERS; i++) {
		char *end;

		if (**at < '0' || **at > '9')
			return false;
		ret[i] = strtoull(*at, &end, 10);
		if (*end != ' ')
			return false;
		*at = end + 1;
	}
	return true;
}

static bool add_line(const char *line, struct writer *w)
{
	uint64_t v[N_NUMBERS];
	struct rec_thread thread;

	if (!parse_numbers(&line, v) || v[0] > INT32_MAX || v[2] > INT32_MAX)
		return false;
	thread = (struct rec_thread){ .process = rows_process(w, (pid_t)v[0], v[1], 0),
		.tid = (uint32_t)v[2] };
	rows_region(w, writer_row(w, RECORD_thread, &thread), v[3], v[4], line);
	return true;
}

/* All whole lines; what is left is kept. */
static void take_lines(struct regions_file *r, struct writer *w)
{
	char *begin = r->text.data, *end = begin + r->text.n, *newline;

	for (; begin < end && (newline = memchr(begin, '\n', (size_t)(end - begin)));
		begin = newline + 1) {
		*newline = '\0';
		if (newline - begin < LINE_MOST && add_line(begin, w))
			r->n_lines++;
		else
			r->n_bad++;
	}
	if (end - begin > LINE_MOST)
		begin = end; /* no line is that long: its rest will be a bad one */
	memmove(r->text.data, begin, (size_t)(end - begin));
	r->text.n = (size_t)(end - begin);
}

bool regions_file_take(struct regions_file *r, struct writer *w)
{
	ssize_t n = r->fd < 0
		? 0
		: pread(r->fd, buf_reserve(&r->text, PIECE_BYTES), PIECE_BYTES, (off_t)r->at);

	if (n <= 0)
		return false;
	r->at += (uint64_t)n;
	buf_advance(&r->text, (size_t)n);
	take_lines(r, w);
	return n == PIECE_BYTES;
}

void regions_file_done(struct regions_file *r)
{
	if (r->fd >= 0)
		close(r->fd);
	buf_done(&r->text);
	*r = REGIONS_FILE_INIT;
}
