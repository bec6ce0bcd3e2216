/* SPDX-License-Identifier: MIT
 * Fuzz target: a whole recording, from the file head to the analysis. The checksums of the mutated
 * input are made right first, else nothing behind them would ever be reached. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/bench/recorded_results.h"
#include "analyze/host/bound.h"
#include "analyze/host/usage.h"
#include "base/arena.h"
#include "base/err.h"
#include "store/reader.h"
#include "store/tables.h"

#include "fix_checksums.h"

static void summarise(struct arena *a, const struct recorded_results *all)
{
	for (size_t i = 0; i < all->n; i++)
		series_summarise(a, &all->v[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_all(struct tables *t)
{
	for (int kind = 0; kind < RECORD_MAX_; kind++) {
		struct record_iter it = record_iter(t, (enum record_kind)kind);

		if (record_type_find((unsigned)kind))
			while (record_next(&it))
				;
		record_iter_done(&it);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("fuzz", 0);
	uint8_t *bytes = malloc(n + 1);
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct reader *r;
	struct tables *t;

	memcpy(bytes, data, n);
	fix_checksums(bytes, n);
	if (write(fd, bytes, n) == (ssize_t)n && reader_open_fd(&r, fd, "input", &e) == 0) {
		if (tables_load(&t, r, &e) == 0) {
			const struct usage *u = usage_build(&a, t);

			if (u)
				bound_build(u);
			read_all(t);
			summarise(&a, recorded_results_build(&a, t));
			tables_free(t);
		}
		reader_close(r);
	}
	arena_done(&a);
	free(bytes);
	return 0;
}
