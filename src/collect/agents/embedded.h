/* SPDX-License-Identifier: MIT
 * Files that travel inside the executable and are unpacked into a session's directory: agents, one per
 * CPython version, and what starts them. The table is written by tools/embed.py. */
#ifndef COLLECT_AGENTS_EMBEDDED_H
#define COLLECT_AGENTS_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
	const char *name; /* path below the directory */
	const unsigned char *data;
	size_t n_bytes;
};

extern const struct embedded_file embedded_files[]; /* ended by a name of NULL */

#endif
