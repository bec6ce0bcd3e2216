/* SPDX-License-Identifier: MIT
 * Stored benchmark results and blocks of comparisons against anything: read, summed up, judged. Nothing may crash or leak; a failure must say why. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "formats/codec/blockfile.h"
#include "formats/results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void judge(struct arena *a, int fd)
{
	struct verdict_options o = { .equivalence = 0.01, .gate = 0.03 };
	struct err e = ERR_INIT;
	struct blockfile f;

	if (blockfile_read_fd(a, fd, "fuzz", &f, &e) < 0) {
		if (!e.code || !e.text[0])
			abort();
	} else if (verdict_of(f.v, f.n, &o).n_blocks != f.n || !f.a || !f.b) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct results r;

	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	judge(&a, dup(fd));
	if (lseek(fd, 0, SEEK_SET) != 0)
		abort();
	if (results_read_fd(&a, fd, "fuzz", &r, &e) < 0) {
		if (!e.code || !e.text[0])
			abort();
	} else {
		for (size_t i = 0; i < r.n; i++)
			if (!series_summarise(&a, &r.v[i].series).d.n || !r.v[i].series.name)
				abort();
	}
	arena_done(&a);
	return 0;
}
