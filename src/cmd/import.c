/* SPDX-License-Identifier: MIT
 * See import.h. */
#include "cmd/import.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/torch/events.h"
#include "analyze/torch/record.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "cmd/command.h"
#include "formats/opened.h"
#include "store/reader.h"
#include "store/writer.h"
#include "base/banned.h"

enum { PIECE = 1 << 20 };

/* to NULL: in memory. */
static int begin(struct writer **ret, const char *to, const struct op_events *x, struct err *e)
{
	const struct writer_options options = { .overwrite = true, .zstd_level = 6 };

	if (writer_open(ret, to, &options, e) < 0)
		return -(int)e->code;
	writer_meta(*ret, "format", "torch-trace");
	op_record_write(x, *ret);
	return 0;
}

int import_open(struct reader **ret, const char *path, struct err *e)
{
	struct opened o = { .keeps_all = true };
	struct writer *w;
	int fd, status = format_open_any(path, &o, e);

	if (status == 0 && o.ops) {
		command_tell_missing(path, op_events_missing(o.ops));
		if ((status = begin(&w, NULL, o.ops, e)) == 0 &&
			(status = writer_close_keep_fd(w, &fd, e)) == 0)
			status = reader_open_own(ret, fd, path, e);
	} else if (status == 0 && (status = opened_reader(&o, ret, e)) == 0) {
		o.reader = NULL;
	}
	opened_done(&o);
	return status;
}

static int copy(const struct reader *r, const char *to, struct err *e)
{
	struct buf text = BUF_INIT;
	ssize_t n = 1;
	int status;

	while (text.n < r->size_bytes && n > 0) {
		n = pread(r->fd, buf_reserve(&text, PIECE), PIECE, (off_t)text.n);
		if (n > 0)
			buf_advance(&text, (size_t)n);
	}
	status = n < 0 ? err_errno(e, ERR_SYSTEM, "reading") : outfile_save(&text, to, e);
	buf_done(&text);
	return status;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int import_save(const char *path, const char *to, struct err *e)
{
	struct opened o = { .keeps_all = true };
	struct reader *r;
	struct arena a = ARENA_INIT;
	struct writer *w;
	int status;

	if (is_same_file(path, to))
		return err_set(e, ERR_USAGE, "%s would overwrite itself", path);
	status = format_open_any(path, &o, e);
	if (status == 0 && o.ops) {
		command_tell_missing(path, op_events_missing(o.ops));
		status = begin(&w, to, o.ops, e);
		if (status == 0)
			status = writer_close(w, e);
	} else if (status == 0 && (status = opened_reader(&o, &r, e)) == 0) {
		command_tell_damage(&a, r, path);
		status = copy(r, to, e);
	}
	arena_done(&a);
	opened_done(&o);
	return status;
}
