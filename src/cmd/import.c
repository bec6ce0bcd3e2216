/* SPDX-License-Identifier: MIT
 * See import.h. */
#include "cmd/import.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/op_events.h"
#include "analyze/op_record.h"
#include "base/buf.h"
#include "base/err.h"
#include "formats/format.h"
#include "formats/torch_trace.h"
#include "store/reader.h"
#include "store/writer.h"
#include "base/banned.h"

enum { PIECE = 1 << 20 };

static int write_ops(const struct op_events *x, const char *to, struct err *e)
{
	const struct writer_options options = { .overwrite = true, .zstd_level = 6 };
	struct writer *w;

	if (writer_open(&w, to, &options, e) < 0)
		return -(int)e->code;
	writer_meta(w, "format", "torch-trace");
	op_record_write(x, w);
	return writer_close(w, e);
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
	status = n < 0 ? err_errno(e, ERR_SYSTEM, "reading") : buf_save(&text, to, e);
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
	struct op_events x = { .keeps_all = true };
	struct err not_torch = ERR_INIT;
	struct reader *r = NULL;
	int status;

	if (is_same_file(path, to))
		return err_set(e, ERR_USAGE, "%s would be written over itself", path);
	if (torch_trace_load_file(&x, path, &not_torch) == 0) {
		status = write_ops(&x, to, e);
	} else {
		status = format_open(&r, path, e);
		if (status == 0)
			status = copy(r, to, e);
		reader_close(r);
	}
	op_events_done(&x);
	return status;
}
