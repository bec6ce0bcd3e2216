/* SPDX-License-Identifier: MIT
 * See results.h. */
#include "json/results.h"

#include <math.h>

#include "base/arena.h"
#include "formats/results.h"
#include "json/values.h"
#include "base/banned.h"

enum { STEPS = 100 }; /* of the distribution function */

static void kv_known(struct json_writer *w, const char *key, double value)
{
	json_kv_double(w, key, isfinite(value) ? value : UNITS_UNKNOWN);
}

/* In the order taken; where a process begins stands in "processes". */
static void write_values(
	const struct series *s, const struct series_summary *sum, struct json_writer *w)
{
	size_t every = 1 + (sum->d.n - 1) / RESULTS_SHOWN, at = 0;

	json_key(w, "values");
	json_array_begin(w);
	for (size_t i = 0; i < sum->d.n; i += every)
		json_double(w, sum->values[i]);
	json_array_end(w);
	json_kv_u64(w, "every", every);
	json_key(w, "processes");
	json_array_begin(w);
	for (size_t i = 0; !s->is_command && i < s->n; i++) {
		json_u64(w, (at + every - 1) / every);
		at += s->processes[i].n - s->processes[i].n_warmup;
	}
	json_array_end(w);
}

static void write_quantiles(
	struct arena *a, const struct series_summary *sum, struct json_writer *w)
{
	double *sorted = arena_copy(a, sum->values, sum->d.n * sizeof *sorted);

	distribution_sort(sorted, sum->d.n);
	json_key(w, "quantiles");
	json_array_begin(w);
	for (int i = 0; i <= STEPS; i++)
		json_double(w, distribution_quantile(sorted, sum->d.n, (double)i / STEPS));
	json_array_end(w);
}

static void write_benchmark(const struct benchmark *b, struct json_writer *w)
{
	struct arena a = ARENA_INIT;
	struct series_summary sum = series_summarise(&a, &b->series);
	struct interval median = series_median_interval(&a, &b->series);

	json_object_begin(w);
	json_kv_string(w, "name", b->series.name);
	json_kv_string(w, "full_name", b->full_name);
	json_kv_string(w, "unit", unit_json_name(b->unit));
	json_kv_bool(w, "is_command", b->series.is_command);
	json_kv_u64(w, "n", sum.d.n);
	json_kv_u64(w, "n_processes", sum.n_processes);
	json_kv_u64(w, "n_warmup", sum.n_warmup);
	json_kv_u64(w, "loops", sum.loops);
	json_kv_double(w, "least", sum.d.least);
	json_kv_double(w, "q1", sum.d.q1);
	json_kv_double(w, "median", sum.d.median);
	kv_known(w, "median_low", median.low);
	kv_known(w, "median_high", median.high);
	json_kv_double(w, "q3", sum.d.q3);
	json_kv_double(w, "most", sum.d.most);
	json_kv_double(w, "mean", sum.d.mean);
	kv_known(w, "mean_low", sum.mean.low);
	kv_known(w, "mean_high", sum.mean.high);
	kv_known(w, "standard_deviation", sum.d.sd);
	write_values(&b->series, &sum, w);
	write_quantiles(&a, &sum, w);
	json_object_end(w);
	arena_done(&a);
}

void results_json(const struct results *r, struct json_writer *w)
{
	json_kv_string(w, "file", r->name);
	json_kv_string(w, "format", r->format);
	json_kv_string(w, "date", r->date);
	kv_known(w, "begun_s", r->begun_s);
	json_kv_string(w, "host", r->host);
	json_kv_string(w, "cpu", r->cpu);
	json_kv_string(w, "python", r->python);
	json_kv_string(w, "commit", r->commit);
	if (*r->damage)
		json_kv_string(w, "damage", r->damage);
	json_key(w, "benchmarks");
	json_array_begin(w);
	for (size_t i = 0; i < r->n; i++)
		write_benchmark(&r->v[i], w);
	json_array_end(w);
}
