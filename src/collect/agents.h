/* SPDX-License-Identifier: MIT
 *
 * Which interpreters there are agents for: those that travel inside the executable, and those that `doctor --build-agent` has made
 * on this machine, in a folder of the user's own whose name changes with the agent's sources, so that an old one is never taken.
 * An agent is named by the tag of its interpreter: cp313, cp313t. */
#ifndef COLLECT_AGENTS_H
#define COLLECT_AGENTS_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

enum { AGENTS_TAG = 16 };

/* One that travels with us. */
bool agents_is_embedded(const char *tag);
/* … or was made here. */
bool agents_has(const char *tag);

/* $XDG_CACHE_HOME or ~/.cache, then leadline/agents/ and the mark of the sources. False: neither is set. */
bool agents_folder(struct buf *ret);
/* Makes it. */
int agents_make_folder(struct buf *ret, struct err *e);

/* Puts those that were made here into a session's agents/. Files that others could have written are left alone. */
void agents_copy(const char *session_dir);

/* The sources, into a folder that is there. */
int agents_unpack_sources(const char *dir, struct err *e);

#endif
