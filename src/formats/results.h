/* SPDX-License-Identifier: MIT
 *
 * Benchmark results in the files of pyperf, pytest-benchmark and hyperfine: all raw values, as a `struct series` per
 * benchmark, so that whatever shows or compares what was just measured takes stored results as well. They are no recordings:
 * format_open refuses such a file and says so, format_open_any (opened.h) has them read.
 *
 *	struct arena a = ARENA_INIT;
 *	struct results r;
 *
 *	if (results_load(&a, "before.json", &r, e) == 0)
 *		for (size_t i = 0; i < r.n; i++)
 *			use(r.v[i].series.name, series_summarise(&a, &r.v[i].series));
 *
 * Recordings of `bench -o` are read as well.
 *
 * What a value is: the time (or whatever the unit says) of one loop, as in series.h. A process is
 *   - pyperf: a run; its warm-ups stand first (n_warmup). Runs that only calibrate are left out.
 *   - pytest-benchmark: all rounds of a benchmark, for they share one process.
 *   - hyperfine: one run of the command (is_command); user_s and system_s are the mean of all of them, for it keeps no others.
 * What a file does not say is "", 0 or NAN. Every benchmark has at least one value; results without raw values
 * (pytest --benchmark-save without --benchmark-save-data) are refused. Everything lives in the arena.
 *
 * The file is hostile: errors are ERR_BAD_FILE with the byte at which it makes no sense; memory is bounded by
 * RESULTS_VALUES values and a small multiple of the file. gzip is undone. */
#ifndef FORMATS_RESULTS_H
#define FORMATS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/stats/series.h"
#include "base/units.h"

struct arena;
struct err;
struct input;
struct reader;

enum { RESULTS_VALUES = 10000000 };

struct benchmark {
	struct series series;  /* its name is unique in a file as far as the file permits */
	const char *full_name; /* pytest's "tests/test_x.py::test_y[1]"; "" elsewhere */
	enum unit unit; /* of the values: UNIT_SECONDS nearly always, UNIT_BYTES, UNIT_COUNT */
};

struct results {
	const char *name;   /* the path it was opened by */
	const char *format; /* "pyperf", "pytest-benchmark", "hyperfine", "leadline" */
	const char *date;   /* of the first run, as written there */
	double begun_s; /* the same in seconds since 1970 (UTC where it names no zone); else the file's own time */
	const char *host, *cpu, *python, *commit;
	const char *kernel, *governor; /* of the CPU's speed */
	/* what is missing of a recording, as damage_describe has it; "" nothing */
	const char *damage;
	struct benchmark *v;
	size_t n; /* at least 1 */
};

/* Whether a file that begins so may hold results; head as in format.h. */
bool results_recognise(const char *head, size_t n);
/* The same of a file; false where it cannot be read, and of pipes, which can be read only once. */
bool results_are_in(const char *path);

/* What is left of the input. */
int results_read(
	struct arena *a, struct input *in, const char *name, struct results *ret, struct err *e);
/* Of a recording that holds some (analyze/bench/recorded_results.h). */
int results_of_recording(
	struct arena *a, struct reader *r, const char *name, struct results *ret, struct err *e);
int results_load(struct arena *a, const char *path, struct results *ret, struct err *e);
/* Takes the descriptor; for results_load, tests and fuzzers. */
int results_read_fd(struct arena *a, int fd, const char *name, struct results *ret, struct err *e);

/* The benchmark of that name; NULL when there is none. */
const struct benchmark *results_find(const struct results *r, const char *name);

#endif
