/* SPDX-License-Identifier: MIT
 * Files of other tools against anything: recognised or tried as each format, read, weighed, and written again in
 * every format. Nothing may crash or leak; a failure must say why. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/recording.h"
#include "base/err.h"
#include "formats/format.h"
#include "formats/png.h"
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
		use(r, n > 1 ? data[n / 2] : 0, n > 1 ? data[n - 1] : 0);
	else if (!e.code || !e.text[0])
		abort();
	return 0;
}
