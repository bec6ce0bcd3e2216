/* SPDX-License-Identifier: MIT
 *
 * Lines of the source files that a process runs, as the process would find them, and with its rights (sys/reach.h).
 * Names come from the target: only regular files of a bounded size are read. */
#ifndef COLLECT_SAMPLES_SOURCE_READER_H
#define COLLECT_SAMPLES_SOURCE_READER_H

#include <stdint.h>
#include <sys/types.h>

struct arena;
struct py_sources;
struct reach;

/* Of a process; or of what is not one, where its files are reached (borrowed). */
struct py_sources *py_sources_new(pid_t pid, struct reach *reach);
void py_sources_free(struct py_sources *s);

/* Text of a line (from 1), without its end; NULL when there is no such file or line. In the arena. */
const char *py_sources_line(struct py_sources *s, struct arena *a, const char *file, int32_t line);

#endif
