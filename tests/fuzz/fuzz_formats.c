/* SPDX-License-Identifier: MIT
 * Files of other tools against anything: recognised or tried as each format, read, weighed, and written again in
 * every format. Nothing may crash or leak; a failure must say why. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/recording.h"
#include "base/err.h"
#include "formats/format.h"
#include "formats/opened.h"
#include "formats/sink.h"
#include "store/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int file_of(const uint8_t *data, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

/* What is chosen of it, too: each part of a choice has a bit. */
static void use(struct reader *reader, unsigned which, unsigned chosen)
{
	static const char *const filter = "[a-m]";
	const struct format *to = formats[which % n_formats];
	const struct choice c = { .only_mine = chosen & 1,
		.idle = chosen & 2,
		.from_s = chosen & 4 ? 1e-6 : 0,
		.to_s = chosen & 8 ? 1e-3 : 0,
		.threads = chosen & 16 ? "#1" : NULL };
	const char *const words = chosen & 32 ? filter : NULL;
	struct err e = ERR_INIT;
	struct recording *r = recording_of_reader(reader, "fuzz");
	struct selection *s;
	struct sink out;

	sink_init(&out, -1);
	if (to->write && to != &format_png /* another program's work */ &&
		format_select(to, r, &c, &words, &s, &e) == 0)
		to->write(s, &out, &e);
	sink_done(&out);
	recording_free(r);
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
		use(r, n > 1 ? data[n / 2] : 0, n > 1 ? data[n - 1] : 0);
	return 0;
}
