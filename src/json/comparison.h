/* SPDX-License-Identifier: MIT
 *
 * What `leadline compare` and `bench --count` find, as JSON. */
#ifndef JSON_COMPARISON_H
#define JSON_COMPARISON_H

struct counting;
struct json_writer;
struct stored_result;
struct verdict_result;

void verdict_json(const struct verdict_result *v, struct json_writer *w);
/* Of results that were measured before. */
void stored_json(const struct stored_result *v, struct json_writer *w);
/* Counts in place of times; b: NULL where there is one side. */
void counting_json(const struct counting *a, const struct counting *b, struct json_writer *w);

#endif
