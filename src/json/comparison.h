/* SPDX-License-Identifier: MIT
 *
 * What `leadline compare` and `bench --count` find, as JSON. */
#ifndef JSON_COMPARISON_H
#define JSON_COMPARISON_H

struct bench_counts;
struct bench_counts_gate;
struct json_writer;
struct results_comparison;
struct verdict_result;

void verdict_json(const struct verdict_result *v, struct json_writer *w);
/* Of results that were measured before. */
void results_comparison_json(const struct results_comparison *v, struct json_writer *w);
/* Counts in place of times; b: NULL where there is one side; gate: NULL where there is none. */
void bench_counts_json(const struct bench_counts *a, const struct bench_counts *b,
	const struct bench_counts_gate *gate, struct json_writer *w);

#endif
