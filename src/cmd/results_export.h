/* SPDX-License-Identifier: MIT
 *
 * Stored benchmark results in `export`: written for other benchmark tools, as `bench --export` does. Results are what
 * formats/results.h reads. */
#ifndef CMD_RESULTS_EXPORT_H
#define CMD_RESULTS_EXPORT_H

struct err;

/* format: one of bench/export.h's names. file: NULL stdout. */
int results_export(const char *path, const char *format, const char *file, struct err *e);

#endif
