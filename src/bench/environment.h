/* SPDX-License-Identifier: MIT
 *
 * What a measured time depends on besides the code: the machine, its state now, versions. Two results are only compared
 * where these agree. What cannot be read is "". */
#ifndef BENCH_ENVIRONMENT_H
#define BENCH_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "sys/cpus.h"

struct buf;
struct series_state;

struct environment {
	char host[65], kernel[200], cpu[128]; /* model name */
	char governor[32], clock[32];         /* of the first CPU; clock source of the kernel */
	char turbo[8];                        /* "on", "off" */
	char commit[64]; /* of the folder it was started in, "+" where files differ from it */
	char date[32];   /* ISO 8601, UTC */
	struct cpus cpus;
	double load;         /* of the last minute; NAN unknown */
	bool has_aslr;       /* addresses are drawn at random */
	double pressure_pct; /* of the last 10 s that some task waited for a CPU; NAN unknown */
	double stolen_s;     /* so far, of all CPUs; NAN unknown */
};

/* Reads all of it but the commit. */
void environment_read(struct environment *ret);
/* Runs git where there is one, which takes milliseconds: for results that are kept. */
void environment_read_commit(struct environment *ret);

/* What of it changes while things are measured. */
void environment_state(struct series_state *ret);

/* One line each: what makes noise to be expected here, and the remedy. `after` (may be NULL): the same at the end. */
void environment_warn(const struct environment *before, const struct environment *after,
	double elapsed_s, struct buf *out);

#endif
