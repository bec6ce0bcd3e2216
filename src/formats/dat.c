/* SPDX-License-Identifier: MIT
 *
 * memory_profiler's .dat: the memory of a program over time, as mprof plots it. A line is "MEM <MiB> <seconds since
 * 1970>"; ours is the resident memory of the program and all its children at each look. */
#include "formats/dat.h"

#include "analyze/usage.h"
#include "base/arena.h"
#include "base/err.h"
#include "formats/format.h"
#include "formats/sink.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

static const double MIB = 1024 * 1024;

static int write(struct tables *t, struct sink *out, struct err *e)
{
	struct arena a = ARENA_INIT;
	const struct usage *u = usage_build(&a, t);
	double begun_s = (double)tables_reader(t)->begun_realtime_ns / 1e9;

	if (!u || !u->n_ticks) {
		arena_done(&a);
		return err_set(e, ERR_USAGE,
			"it holds no memory over time: leadline run and leadline time record it");
	}
	buf_printf(&out->text, "CMDLINE %s\n", u->command);
	for (size_t i = 0; i < u->n_ticks; i++) {
		buf_printf(&out->text, "MEM %.6f %.4f\n", u->ticks[i].rss_bytes / MIB,
			begun_s + u->ticks[i].t_s);
		sink_flush(out);
	}
	arena_done(&a);
	return 0;
}

const struct format format_dat = {
	.name = "dat",
	.alias = "mprof",
	.suffixes = { ".dat" },
	.summary = "memory over time, for memory_profiler's mprof plot",
	.takes_totals = true,
	.write = write,
};
