/* SPDX-License-Identifier: MIT
 *
 * What `bench --history` prints of one benchmark: its times over commits, and where they changed. */
#ifndef VIEW_BENCH_HISTORY_H
#define VIEW_BENCH_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/history.h"

struct buf;

struct history_view {
	const char *name;
	const struct history *history;
	size_t n_unlike; /* runs left out: of another machine, CPU or Python */
	bool colour;
	size_t width;
};

void history_print(const struct history_view *v, struct buf *out);

#endif
