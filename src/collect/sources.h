/* SPDX-License-Identifier: MIT
 *
 * The source text of the files a recording mentions, read when it ends: whoever opens it later, elsewhere,
 * or after an edit, sees the lines that ran. While programs run nothing is read but where their files are
 * (root and working folder), so sampling is not disturbed.
 *
 *	struct sources *s = sources_new();
 *	unsigned id = sources_process(s, pid, start_ns);     when a process is first sampled
 *	sources_file(s, id, "mod.py");                        when a code object is first recorded
 *	sources_write(s, writer);                             at the end
 *	sources_free(s);
 *
 * A file is read with the rights of the process that named it first, and in its root (sys/reach.h), also after it has ended:
 * the rights that it had when it was first looked at, or the lower ones it was seen with later.
 * Bounded: SOURCES_FILE_BYTES a file, SOURCES_ALL_BYTES together, SOURCES_FILES files. Names in angle
 * brackets (<frozen …>, <string>) have no file. Files that cannot be had are recorded without text, with
 * the reason (enum source_state). */
#ifndef COLLECT_SOURCES_H
#define COLLECT_SOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sources;
struct writer;

enum { SOURCES_FILE_BYTES = 4 << 20, SOURCES_ALL_BYTES = 64 << 20, SOURCES_FILES = 20000 };

struct sources *sources_new(void);
void sources_free(struct sources *s); /* accepts NULL */

/* start_ns: after boot. is_own: it is known to have been of our user, should it have ended already. */
unsigned sources_process(struct sources *s, pid_t pid, uint64_t start_ns, bool is_own);
/* It ended, or runs another program: if no file is named after it, its number is given to another one. */
void sources_process_ended(struct sources *s, unsigned process);
void sources_file(struct sources *s, unsigned process, const char *file);

void sources_write(struct sources *s, struct writer *w);

#endif
