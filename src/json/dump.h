/* SPDX-License-Identifier: MIT
 *
 * What processes do right now, as JSON. */
#ifndef JSON_DUMP_H
#define JSON_DUMP_H

#include <stddef.h>

struct json_writer;
struct snapshots;

/* failures: of processes that could not be looked at, a line each. */
void dump_json(const struct snapshots *s, const char *const *failures, size_t n_failures,
	struct json_writer *w);

#endif
