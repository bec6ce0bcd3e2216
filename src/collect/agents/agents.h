/* SPDX-License-Identifier: MIT
 *
 * Which interpreters there are agents for: those that travel inside the executable, and those that `doctor --build-agent` or a run
 * that needed one has made on this machine, in a folder of the user's own whose name changes with the agent's sources, so that an old one is never taken.
 * An agent is named by the tag of its interpreter: cp313, cp313t. */
#ifndef COLLECT_AGENTS_AGENTS_H
#define COLLECT_AGENTS_AGENTS_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

enum { AGENTS_TAG = 16 };

/* One travels with us, or was made here. */
bool agents_has(const char *tag);

/* Makes the folder of those made here: $XDG_CACHE_HOME or ~/.cache, then leadline/agents/ and the mark of the sources. */
int agents_make_folder(struct buf *ret, struct err *e);

/* Puts those that were made here into a session's agents/, in the place of ours where there are both: they were made for this machine.
 * Files that others could have written are left alone. */
void agents_copy(const char *session_dir);

/* The one that a session would load, as DIR/agents/TAG.so. ERR_NO_AGENT: there is none. */
int agents_save(const char *tag, const char *dir, struct err *e);

/* Keeps one that was made just now. */
int agents_keep(const char *tag, const struct buf *bytes, struct buf *ret_path, struct err *e);

/* The sources, into a folder that is there. */
int agents_unpack_sources(const char *dir, struct err *e);

#endif
