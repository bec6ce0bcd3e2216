/* SPDX-License-Identifier: MIT
 *
 * Lines of the source files that a process runs, as the process would find them: through its root and
 * its working directory. Names come from the target: only regular files of a bounded size are read, and
 * opening never waits. */
#ifndef COLLECT_PY_SOURCE_H
#define COLLECT_PY_SOURCE_H

#include <stdint.h>
#include <sys/types.h>

struct arena;
struct py_sources;

/* pid 0: of no live process; then only names from the root on are found, in the folder `root` ("": ours;
 * borrowed). */
struct py_sources *py_sources_new(pid_t pid, const char *root);
void py_sources_free(struct py_sources *s);

/* Text of a line (from 1), without its end; NULL when there is no such file or line. In the arena. */
const char *py_sources_line(struct py_sources *s, struct arena *a, const char *file, int32_t line);

#endif
