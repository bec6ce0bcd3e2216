/* SPDX-License-Identifier: MIT
 *
 * One `leadline bench`: its options, what it measures (things × combinations of parameters × sizes), and what came out. Who
 * reads the command line and prints is cmd/bench.c. */
#ifndef CMD_BENCH_SESSION_H
#define CMD_BENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/stats/growth.h"
#include "analyze/stats/scaling.h"
#include "base/arena.h"
#include "base/opts.h"
#include "base/vec.h"
#include "bench/axis.h"
#include "bench/environment.h"
#include "bench/parameters.h"
#include "cmd/subject.h"

struct err;

struct bench_options {
	struct subject_options subject;
	struct opt_list commands, exports, lists, ranges;
	uint64_t loops, repeat, processes, warmup, runs, least_runs, most_runs, time_ns;
	const char *json, *export_json, *export_csv, *export_markdown, *step, *scan, *scale,
		*output, *history, *count;
	bool has_json, verbose, cold, warm, has_count, has_loops, has_repeat, has_least, force;
	int unit, color;
};

/* What to measure, and the row of the same thing at other sizes that it belongs to. */
struct bench_item {
	struct subject subject;
	size_t group;
	uint64_t size; /* 0: none */
};

/* A row of sizes, measured. */
struct bench_group {
	const char *name;    /* without the size */
	size_t first, n;     /* of the session's series */
	const char *stopped; /* why sizes are missing; "" none are */
};

struct bench_session {
	const struct bench_options *o;
	struct arena arena;
	struct axis axis;
	bool is_scale; /* the axis is numbers of threads */
	VEC(struct bench_item) items;
	VEC(struct bench_group) groups;
	VEC(struct series) series;
	struct statement_notes statement; /* of the last one */
	struct environment before, after;
	double elapsed_s;
};

/* words: operands; is_command: they stood behind "--". */
int bench_session_open(struct bench_session *s, char **words, bool is_command, struct err *e);
/* Results so far are in s->series, whatever it returns. */
int bench_session_measure(struct bench_session *s, struct err *e);
/* Whether what --export and --json say is right. */
int bench_session_check_exports(const struct bench_options *o, struct err *e);
int bench_session_export(struct bench_session *s, struct err *e);
/* Whether an export goes to stdout, so that no report does. */
bool bench_session_prints_export(const struct bench_options *o);
/* Times of each process at each number of threads. */
const struct scaling_point *bench_session_rates(
	struct bench_session *s, const struct bench_group *g);
/* The points of a row of sizes: those that were measured. */
const struct growth_point *bench_session_points(
	struct bench_session *s, const struct bench_group *g);
void bench_session_close(struct bench_session *s);

#endif
