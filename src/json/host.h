/* SPDX-License-Identifier: MIT
 *
 * What a run used, what it was bound by and how it was recorded, as JSON. */
#ifndef JSON_HOST_H
#define JSON_HOST_H

#include <stddef.h>

struct bound;
struct fidelity;
struct json_writer;
struct usage;

/* What `leadline time` tells. */
void usage_json(const struct usage *u, const struct bound *b, struct json_writer *w);
/* At most n of them. */
void processes_json_rows(const struct usage *u, size_t n, struct json_writer *w);
/* "fidelity" */
void fidelity_json(const struct fidelity *f, struct json_writer *w);

#endif
