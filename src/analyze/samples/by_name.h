/* SPDX-License-Identifier: MIT
 *
 * Values by the names of functions, as pprof -text adds them up: functions of one name are one row, whatever
 * file they are in; with lines, a row is (name, file, line). A stack counts once for each row it goes
 * through. Values are whole ns, bytes or counts. */
#ifndef ANALYZE_SAMPLES_BY_NAME_H
#define ANALYZE_SAMPLES_BY_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct stacks;

struct by_name_row {
	const char *name, *file; /* file "" without lines, and where there is none */
	int line;                /* 0: none */
	uint64_t flat, cum;
};

struct by_name {
	const struct by_name_row *rows; /* flat falls; equal ones by name, then cum falls */
	size_t n;
	uint64_t total;
};

struct by_name by_name_build(struct arena *a, const struct stacks *s, bool with_lines);

#endif
