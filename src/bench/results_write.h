/* SPDX-License-Identifier: MIT
 *
 * Results as a recording: all values, what the system did in each batch, the machine's state at each process, and what the
 * machine is. analyze/bench/recorded_results.h reads it back. */
#ifndef BENCH_RESULTS_WRITE_H
#define BENCH_RESULTS_WRITE_H

struct err;
struct export_results;

/* Replaces a file of that name. */
int results_save(const struct export_results *r, const char *path, struct err *e);

#endif
