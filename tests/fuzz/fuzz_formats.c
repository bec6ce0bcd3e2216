/* SPDX-License-Identifier: MIT
 * Files of other tools against anything: recognised or tried as each format, read, weighed, and written again in
 * every format. Nothing may crash or leak; a failure must say why. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/profile.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "formats/format.h"
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

/* 0: whoever recognises it; else the first byte chooses the reader, and what is written. */
static const struct format *reader_for(const uint8_t *data, size_t n)
{
	if (data[0])
		return formats[data[0] % n_formats];
	for (size_t i = 0; i < n_formats; i++)
		if (formats[i]->recognise && formats[i]->recognise((const char *)data + 1, n - 1))
			return formats[i];
	return formats[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = ERR_INIT;
	struct reader *r = NULL;
	const struct format *f;

	if (n == 0)
		return 0;
	f = reader_for(data, n);
	if (!f->read)
		return 0;
	if (format_read_fd(f, file_of(data + 1, n - 1), "fuzz", &r, &e) == 0)
		use(r, n > 1 ? data[n / 2] : 0);
	else if (!e.code || !e.text[0])
		abort();
	reader_close(r);
	return 0;
}
