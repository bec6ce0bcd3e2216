/* SPDX-License-Identifier: MIT
 * See format.h: files as recordings. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/recording.h"
#include "analyze/torch.h"
#include "base/err.h"
#include "base/text.h"
#include "formats/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "formats/results.h"
#include "formats/torch_trace.h"
#include "store/container.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "base/banned.h"

static const struct format *recognise(struct input *in)
{
	size_t n;
	const char *head = input_head(in, FORMAT_HEAD, &n);

	for (size_t i = 0; i < n_formats; i++)
		if (formats[i]->recognise && formats[i]->recognise(head, n))
			return formats[i];
	return NULL;
}

static bool has_results(struct input *in)
{
	size_t n;
	const char *head = input_head(in, FORMAT_HEAD, &n);

	return results_recognise(head, n);
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

int format_open(struct reader **ret, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;
	char magic[8];
	ssize_t n = fd < 0 ? -1 : pread(fd, magic, sizeof magic, 0);
	const struct format *f;
	struct input in;

	if (fd >= 0 && n < 0 && errno == EISDIR) {
		close(fd);
		return err_set(e, ERR_BAD_FILE, "%s is a folder", path);
	}
	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", path);
	/* What begins with the first byte of a recording and nothing else is a damaged one. */
	if (n >= 4 && memcmp(magic, STORE_MAGIC, 4) == 0)
		return reader_open_fd(ret, fd, path, e);
	input_init(&in, fd);
	f = recognise(&in);
	if (f)
		status = read_input(f, &in, path, ret, e);
	else if (input_error(&in, e) < 0)
		status = err_note(e, "%s", path);
	else if (has_results(&in))
		status = err_set(e, ERR_USAGE,
			"%s holds benchmark results, not a profile; leadline report and view show "
			"them",
			path);
	else
		status = err_set(e, ERR_BAD_FILE,
			n == 0 ? "%s: the file is empty"
			       : "%s: neither a recording nor a file of another profiler that "
				 "leadline can read",
			path);
	input_done(&in);
	return status;
}

/* NULL where the file is no trace of torch.profiler's, and why. */
static struct torch *read_trace(const char *path, struct err *why)
{
	struct op_events x = { 0 };
	struct torch *t = NULL;
	struct stat st;

	/* Others would be read to their end only to find that they are none; what comes through a pipe can be read only once. */
	if (!text_ends_with(path, ".json") && !text_ends_with(path, ".json.gz"))
		return NULL;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	if (torch_trace_load_file(&x, path, why) == 0)
		t = torch_of_events(&x);
	op_events_done(&x);
	return t;
}

int format_load(struct recording **ret, const char *path, struct err *e)
{
	struct err why = ERR_INIT;
	struct torch *torch = read_trace(path, &why);
	struct reader *r = NULL;

	if (torch) {
		*ret = recording_of_trace(torch, path, format_open);
		return 0;
	}
	if (format_open(&r, path, e) < 0)
		return -(int)e->code;
	*ret = recording_of_reader(r, path);
	if (why.code)
		(*ret)->no_torch = arena_strdup(&(*ret)->arena, why.text);
	return 0;
}
