/* SPDX-License-Identifier: MIT
 *
 * What calls were given, and what operations worked on, as JSON. */
#ifndef JSON_ARGUMENTS_H
#define JSON_ARGUMENTS_H

struct arguments;
struct json_writer;
struct probes;

/* "arguments" */
void arguments_json(const struct arguments *a, struct json_writer *w);
/* "probes" */
void probes_json(const struct probes *p, struct json_writer *w);

#endif
