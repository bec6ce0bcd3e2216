/* SPDX-License-Identifier: MIT
 * See format.h and opened.h: files as recordings. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/bench/recorded_results.h"
#include "analyze/recording.h"
#include "analyze/torch/events.h"
#include "analyze/torch/results.h"
#include "analyze/torch/stacks.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/xalloc.h"
#include "formats/chrome.h"
#include "formats/format.h"
#include "formats/input.h"
#include "formats/opened.h"
#include "formats/results.h"
#include "formats/torch/trace.h"
#include "store/container.h"
#include "store/foreign.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "base/banned.h"

enum { PIECE = 1 << 18, MAGIC = 4 };

static const struct format *recognise(const char *head, size_t n)
{
	for (size_t i = 0; i < n_formats; i++)
		if (formats[i]->recognise && formats[i]->recognise(head, n))
			return formats[i];
	return NULL;
}

static int read_input(const struct format *f, struct input *in, const char *name,
	struct reader **ret, struct err *e)
{
	struct foreign to = { 0 };
	struct err ignored = ERR_INIT;
	int fd = -1, status = foreign_begin(&to, f->name, &in->budget, e);

	if (status == 0)
		status = f->read(in, &to, e);
	foreign_done(&to);
	if (status < 0 &&
		input_error(in, &ignored) < 0) /* why, where it only said that it failed */
		*e = ignored;
	if (status < 0) {
		writer_close(to.w, &ignored);
		return err_note(e, "%s: read as a %s file", name, f->name);
	}
	if (writer_close_keep_fd(to.w, &fd, e) < 0)
		return err_note(e, "%s", name);
	return reader_open_own(ret, fd, name, e);
}

int format_read_fd(
	const struct format *f, int fd, const char *name, struct reader **ret, struct err *e)
{
	struct input in;
	int status;

	input_init(&in, fd);
	status = read_input(f, &in, name, ret, e);
	input_done(&in);
	return status;
}

/* ---- the one door ---------------------------------------------------------------------------- */

static int unknown(const struct opened *o, bool is_empty, struct err *e)
{
	return err_set(e, ERR_BAD_FILE,
		is_empty
			? "%s: the file is empty"
			: "%s: neither a recording nor another profiler's file that leadline can read",
		o->path);
}

/* What was read and is none of torch's. is_sure: its beginning said that these are trace events. */
static int open_spans(struct opened *o, const struct op_events *x, bool is_sure, struct err *e)
{
	if (x->is_kineto && !x->others.n_foreign) {
		torch_trace_check(x, e);
		return err_note(e, "%s: read as a trace of torch", o->path);
	}
	if (!is_sure && (x->flaw.what || !x->others.n_spans))
		return unknown(o, false, e);
	if (chrome_check(x, e) < 0)
		return err_note(e, "%s: read as a chrome file", o->path);
	return op_stacks_open(&o->reader, x, o->path, e);
}

static int open_trace(struct opened *o, struct input *in, bool is_sure, struct err *e)
{
	struct op_events *x = xcalloc(1, sizeof *x);
	struct err why = ERR_INIT;
	int status;

	x->keeps_all = o->keeps_all;
	status = torch_trace_read_any(in, x, e);
	if (status < 0 && input_error(in, &why) < 0)
		*e = why;
	if (status < 0) {
		err_note(e, "%s: read as a chrome file", o->path);
	} else if (x->v.n) {
		o->ops = x;
		return 0;
	} else {
		status = open_spans(o, x, is_sure, e);
	}
	op_events_done(x);
	free(x);
	return status;
}

/* A recording out of a pipe, or packed: readers go back and forth in it. */
static int open_copy(struct opened *o, struct input *in, struct err *e)
{
	int fd = outfile_unnamed(), n = 1, status = 0;
	struct buf piece = BUF_INIT;

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "a temporary file in TMPDIR, /var/tmp or /tmp");
	while (status == 0 && n > 0) {
		buf_clear(&piece);
		n = input_fill(in, buf_reserve(&piece, PIECE), PIECE);
		if (n > 0) {
			buf_advance(&piece, (size_t)n);
			status = buf_write(&piece, fd, e);
		}
	}
	buf_done(&piece);
	if (n < 0)
		status = input_error(in, e);
	if (status < 0) {
		close(fd);
		return err_note(e, "%s", o->path);
	}
	return reader_open_fd(&o->reader, fd, o->path, e);
}

static bool begins_as_json(const char *head, size_t n)
{
	size_t blanks = 0;

	while (blanks < n && strchr(" \t\r\n", head[blanks]))
		blanks++;
	return blanks < n && (head[blanks] == '{' || head[blanks] == '[');
}

static int open_input(struct opened *o, struct input *in, struct err *e)
{
	size_t n;
	const char *head = input_head(in, FORMAT_HEAD, &n);
	const struct format *f;

	if (input_error(in, e) < 0)
		return err_note(e, "%s", o->path);
	if (n >= MAGIC && memcmp(head, STORE_MAGIC, MAGIC) == 0)
		return open_copy(o, in, e);
	if (results_recognise(head, n)) {
		o->has_results = true;
		o->results = arena_new(&o->arena, struct results);
		return results_read(&o->arena, in, o->path, o->results, e);
	}
	f = recognise(head, n);
	if (f == &format_chrome || (!f && begins_as_json(head, n)))
		return open_trace(o, in, f != NULL, e);
	return f ? read_input(f, in, o->path, &o->reader, e) : unknown(o, n == 0, e);
}

/* Takes the descriptor. */
static int open_fd(struct opened *o, int fd, struct err *e)
{
	char magic[MAGIC];
	ssize_t n = pread(fd, magic, sizeof magic, 0);
	struct input in;
	int status;

	if (n < 0 && errno == EISDIR) {
		close(fd);
		return err_set(e, ERR_BAD_FILE, "%s is a folder", o->path);
	}
	/* What begins with the first bytes of a recording and nothing else is a damaged one. */
	if (n == MAGIC && memcmp(magic, STORE_MAGIC, MAGIC) == 0)
		return reader_open_fd(&o->reader, fd, o->path, e);
	input_init(&in, fd);
	status = open_input(o, &in, e);
	input_done(&in);
	return status;
}

int format_open_any(const char *path, struct opened *ret, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;

	*ret = (struct opened){ .keeps_all = ret->keeps_all };
	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", path);
	ret->path = arena_strdup(&ret->arena, path);
	status = open_fd(ret, fd, e);
	if (status == 0 && ret->reader)
		ret->has_results = recorded_results_are_in(ret->reader);
	if (status < 0)
		opened_done(ret);
	return status;
}

void opened_done(struct opened *o)
{
	reader_close(o->reader);
	if (o->ops)
		op_events_done(o->ops);
	free(o->ops);
	arena_done(&o->arena);
	*o = (struct opened){ 0 };
}

int opened_reader(struct opened *o, struct reader **ret, struct err *e)
{
	if (!o->reader && !o->ops)
		return err_set(e, ERR_USAGE,
			"%s holds benchmark results, not a profile; leadline report and view show them",
			o->path);
	if (!o->reader && op_stacks_open(&o->reader, o->ops, o->path, e) < 0)
		return -(int)e->code;
	*ret = o->reader;
	return 0;
}

int opened_results(struct opened *o, const struct results **ret, struct err *e)
{
	struct results *results = o->results;

	if (!results) {
		results = arena_new(&o->arena, struct results);
		if (results_of_recording(&o->arena, o->reader, o->path, results, e) < 0)
			return -(int)e->code;
		o->results = results;
	}
	*ret = results;
	return 0;
}

int format_load(struct recording **ret, const char *path, struct err *e)
{
	struct opened o = { 0 };
	struct reader *r;
	int status = format_open_any(path, &o, e);

	if (status == 0 && o.ops) {
		*ret = recording_of_trace(torch_of_events(o.ops), path);
	} else if (status == 0 && (status = opened_reader(&o, &r, e)) == 0) {
		*ret = recording_of_reader(r, path);
		o.reader = NULL;
	}
	opened_done(&o);
	return status;
}
