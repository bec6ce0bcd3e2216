/* SPDX-License-Identifier: MIT
 *
 * Stored results of benchmarks as JSON. Of more than RESULTS_SHOWN values of a benchmark
 * every second, third … is in "values"; the statistics are of all of them. */
#ifndef JSON_RESULTS_H
#define JSON_RESULTS_H

struct json_writer;
struct results;

enum { RESULTS_SHOWN = 3000 };
void results_json(const struct results *r, struct json_writer *w);

#endif
