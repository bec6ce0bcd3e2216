/* SPDX-License-Identifier: MIT
 * Files of other tools against anything: recognised or tried as each format, read, weighed, and written again in
 * every format. Nothing may crash or leak; a failure must say why. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/profile.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "formats/format.h"
#include "formats/opened.h"
#include "formats/png.h"
#include "formats/sink.h"
#include "store/reader.h"
#include "store/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int file_of(const uint8_t *data, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

static void use(struct reader *r, size_t which)
{
	static const struct stacks_options all = { 0 };
	const struct format *to = formats[which % n_formats];
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct tables *t = NULL;
	struct sink out;

	if (tables_load(&t, r, &e) < 0)
		abort();
	profile_build(&a, stacks_build(&a, t, &all));
	sink_init(&out, -1);
	if (to->write && to != &format_png) /* another program's work */
		to->write(t, &out, &e);
	sink_done(&out);
	arena_done(&a);
	tables_free(t);
}

/* Through the one door; a recording is fuzz_store's, which knows its checksums. */
static int open_any(const uint8_t *data, size_t n, struct reader **ret, struct err *e)
{
	struct opened o = { 0 };
	int fd = file_of(data, n), status;
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	status = format_open_any(path, &o, e);
	close(fd);
	if (status == 0 && (o.ops || !o.has_results))
		status = opened_reader(&o, ret, e);
	if (status == 0)
		o.reader = NULL;
	opened_done(&o);
	return status;
}

/* 0: whoever recognises it; else the first byte chooses the reader, and what is written. */
static int open_as(const uint8_t *data, size_t n, struct reader **ret, struct err *e)
{
	const struct format *f = formats[data[0] % n_formats];

	if (!data[0])
		return open_any(data + 1, n - 1, ret, e);
	return f->read ? format_read_fd(f, file_of(data + 1, n - 1), "fuzz", ret, e) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = ERR_INIT;
	struct reader *r = NULL;

	if (n == 0)
		return 0;
	if (open_as(data, n, &r, &e) < 0 && (!e.code || !e.text[0]))
		abort();
	if (r)
		use(r, n > 1 ? data[n / 2] : 0);
	reader_close(r);
	return 0;
}
