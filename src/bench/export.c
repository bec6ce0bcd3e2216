/* SPDX-License-Identifier: MIT
 * See export.h. */
#include "bench/export.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "bench/environment.h"
#include "base/banned.h"

static void numbers(struct json_writer *w, const char *key, const double *v, size_t n)
{
	json_key(w, key);
	json_array_begin(w);
	for (size_t i = 0; i < n; i++)
		json_double(w, v[i]);
	json_array_end(w);
}

/* By name, the values as text. */
static void parameters(struct json_writer *w, const char *key, const struct series *s)
{
	json_key(w, key);
	json_object_begin(w);
	for (size_t i = 0; i < s->n_parameters; i++)
		json_kv_string(w, s->parameters[i].name, s->parameters[i].value);
	json_object_end(w);
}

static void kv_known(struct json_writer *w, const char *key, const char *text)
{
	if (text && *text)
		json_kv_string(w, key, text);
}

/* pyperf's own names, as far as it has them. */
static void pyperf_metadata(struct json_writer *w, const struct export_results *r)
{
	const struct environment *e = r->environment;

	json_key(w, "metadata");
	json_object_begin(w);
	kv_known(w, "hostname", e->host);
	kv_known(w, "platform", e->kernel);
	kv_known(w, "cpu_model_name", e->cpu);
	if (*e->governor) {
		struct buf config = BUF_INIT;

		buf_printf(&config, "governor:%s", e->governor);
		json_kv_string(w, "cpu_config", buf_str(&config));
		buf_done(&config);
	}
	if (e->cpus.online) { /* stored results do not tell */
		json_kv_u64(w, "cpu_count", (uint64_t)e->cpus.online);
		kv_known(w, "aslr", e->has_aslr ? "Full randomization" : "No randomization");
	}
	kv_known(w, "timer", "clock_gettime(CLOCK_MONOTONIC)");
	kv_known(w, "commit_id", e->commit);
	if (strlen(e->date) >= 19) { /* 2026-01-02T03:04:05Z, which pyperf wants otherwise */
		char date[32];

		snprintf(date, sizeof date, "%.10s %.8s.000000", e->date, e->date + 11);
		json_kv_string(w, "date", date);
	}
	if (r->python && *r->python) {
		const char *version = strchr(r->python, ' ');

		json_key(w, "python_implementation");
		json_string_n(
			w, r->python, version ? (size_t)(version - r->python) : strlen(r->python));
		kv_known(w, "python_version", version ? version + 1 : NULL);
	}
	json_kv_string(w, "unit", "second");
	json_kv_string(w, "leadline_version", LEADLINE_VERSION);
	json_object_end(w);
}

static void pyperf_run(
	struct json_writer *w, const struct series_process *p, const struct environment *e)
{
	json_object_begin(w);
	json_key(w, "metadata");
	json_object_begin(w);
	json_kv_u64(w, "loops", p->loops);
	if (p->max_rss_bytes)
		json_kv_u64(w, "command_max_rss", p->max_rss_bytes);
	if (e->load >= 0)
		json_kv_double(w, "load_avg_1min", e->load);
	json_object_end(w);
	if (p->n_warmup) {
		json_key(w, "warmups");
		json_array_begin(w);
		for (size_t i = 0; i < p->n_warmup; i++) {
			json_array_begin(w);
			json_u64(w, p->loops);
			json_double(w, p->v[i].seconds);
			json_array_end(w);
		}
		json_array_end(w);
	}
	json_key(w, "values");
	json_array_begin(w);
	for (size_t i = p->n_warmup; i < p->n; i++)
		json_double(w, p->v[i].seconds);
	json_array_end(w);
	json_object_end(w);
}

void export_pyperf(struct arena *a, const struct export_results *r, struct buf *out)
{
	struct json_writer w;

	(void)a;
	json_init_shown(&w, out, true);
	json_object_begin(&w);
	json_key(&w, "benchmarks");
	json_array_begin(&w);
	for (size_t i = 0; i < r->n; i++) {
		const struct series *s = &r->series[i];

		json_object_begin(&w);
		json_key(&w, "metadata");
		json_object_begin(&w);
		json_kv_string(&w, "name", s->name);
		json_object_end(&w);
		json_key(&w, "runs");
		json_array_begin(&w);
		for (size_t k = 0; k < s->n; k++)
			pyperf_run(&w, &s->processes[k], r->environment);
		json_array_end(&w);
		json_object_end(&w);
	}
	json_array_end(&w);
	pyperf_metadata(&w, r);
	json_kv_string(&w, "version", "1.0");
	json_object_end(&w);
	buf_addc(out, '\n');
}

void export_hyperfine(struct arena *a, const struct export_results *r, struct buf *out)
{
	struct json_writer w;

	json_init_shown(&w, out, true);
	json_object_begin(&w);
	json_key(&w, "results");
	json_array_begin(&w);
	for (size_t i = 0; i < r->n; i++) {
		const struct series *s = &r->series[i];
		struct series_summary sum = series_summarise(a, s);

		json_object_begin(&w);
		json_kv_string(&w, "command", s->name);
		json_kv_double(&w, "mean", sum.d.mean);
		json_kv_double(&w, "stddev", sum.d.sd);
		json_kv_double(&w, "median", sum.d.median);
		json_kv_double(&w, "user", sum.user_s);
		json_kv_double(&w, "system", sum.system_s);
		json_kv_double(&w, "min", sum.d.least);
		json_kv_double(&w, "max", sum.d.most);
		numbers(&w, "times", sum.values, sum.d.n);
		json_key(&w, "memory_usage_byte");
		json_array_begin(&w);
		for (size_t k = 0; k < s->n; k++)
			json_u64(&w, s->processes[k].max_rss_bytes);
		json_array_end(&w);
		json_key(&w, "exit_codes");
		json_array_begin(&w);
		for (size_t k = 0; k < s->n; k++)
			json_i64(&w, s->processes[k].exit_status);
		json_array_end(&w);
		if (s->n_parameters)
			parameters(&w, "parameters", s);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_object_end(&w);
	buf_addc(out, '\n');
}

static void pytest_machine(struct json_writer *w, const struct export_results *r)
{
	const struct environment *e = r->environment;
	const char *version = r->python ? strchr(r->python, ' ') : NULL;

	json_key(w, "machine_info");
	json_object_begin(w);
	json_kv_string(w, "node", e->host);
	json_kv_string(w, "machine", strrchr(e->kernel, ' ') ? strrchr(e->kernel, ' ') + 1 : "");
	json_kv_string(w, "system", "Linux");
	json_kv_string(w, "release", e->kernel);
	json_kv_string(w, "python_implementation", "CPython");
	json_kv_string(w, "python_version", version ? version + 1 : "");
	json_key(w, "cpu");
	json_object_begin(w);
	json_kv_string(w, "brand_raw", e->cpu);
	json_kv_i64(w, "count", e->cpus.online);
	json_object_end(w);
	json_object_end(w);
	json_key(w, "commit_info");
	json_object_begin(w);
	json_kv_string(w, "id", e->commit);
	json_kv_bool(w, "dirty", strchr(e->commit, '+') != NULL);
	json_object_end(w);
}

static void pytest_stats(struct json_writer *w, const struct series_summary *s)
{
	const struct distribution *d = &s->d;
	size_t beyond_sd = 0, low = 0, high = 0;
	double reach = 1.5 * (d->q3 - d->q1), total = 0, inside_low = d->most,
	       inside_high = d->least;
	struct buf outliers = BUF_INIT;

	for (size_t i = 0; i < d->n; i++) {
		double v = s->values[i];

		total += v;
		beyond_sd += fabs(v - d->mean) > d->sd;
		low += v < d->q1 - reach;
		high += v > d->q3 + reach;
		if (v >= d->q1 - reach)
			inside_low = fmin(inside_low, v);
		if (v <= d->q3 + reach)
			inside_high = fmax(inside_high, v);
	}
	buf_printf(&outliers, "%zu;%zu", beyond_sd, low + high);
	json_key(w, "stats");
	json_object_begin(w);
	json_kv_double(w, "min", d->least);
	json_kv_double(w, "max", d->most);
	json_kv_double(w, "mean", d->mean);
	json_kv_double(w, "stddev", d->n > 1 ? d->sd : 0);
	json_kv_u64(w, "rounds", d->n);
	json_kv_double(w, "median", d->median);
	json_kv_double(w, "iqr", d->q3 - d->q1);
	json_kv_double(w, "q1", d->q1);
	json_kv_double(w, "q3", d->q3);
	json_kv_u64(w, "iqr_outliers", low + high);
	json_kv_u64(w, "stddev_outliers", beyond_sd);
	json_kv_string(w, "outliers", buf_str(&outliers));
	json_kv_double(w, "ld15iqr", inside_low);
	json_kv_double(w, "hd15iqr", inside_high);
	json_kv_double(w, "ops", d->mean > 0 ? 1 / d->mean : 0);
	json_kv_double(w, "total", total);
	numbers(w, "data", s->values, d->n);
	json_kv_u64(w, "iterations", s->loops);
	json_object_end(w);
	buf_done(&outliers);
}

void export_pytest_benchmark(struct arena *a, const struct export_results *r, struct buf *out)
{
	struct json_writer w;

	json_init_shown(&w, out, true);
	json_object_begin(&w);
	pytest_machine(&w, r);
	json_key(&w, "benchmarks");
	json_array_begin(&w);
	for (size_t i = 0; i < r->n; i++) {
		struct series_summary s = series_summarise(a, &r->series[i]);

		json_object_begin(&w);
		json_key(&w, "group");
		json_null(&w);
		json_kv_string(&w, "name", r->series[i].name);
		json_kv_string(&w, "fullname", r->series[i].name);
		if (r->series[i].n_parameters) {
			parameters(&w, "params", &r->series[i]);
		} else {
			json_key(&w, "params");
			json_null(&w);
		}
		json_key(&w, "param");
		json_null(&w);
		json_key(&w, "extra_info");
		json_object_begin(&w);
		json_object_end(&w);
		json_key(&w, "options");
		json_object_begin(&w);
		json_kv_bool(&w, "disable_gc", !r->series[i].is_command);
		json_kv_string(&w, "timer", "perf_counter");
		json_kv_u64(&w, "min_rounds", 1);
		json_kv_double(&w, "max_time", 0);
		json_kv_double(&w, "min_time", 0);
		json_kv_bool(&w, "warmup", false);
		json_object_end(&w);
		pytest_stats(&w, &s);
		json_object_end(&w);
	}
	json_array_end(&w);
	json_kv_string(&w, "datetime", r->environment->date);
	json_kv_string(&w, "version", "5.0.0");
	json_object_end(&w);
	buf_addc(out, '\n');
}

/* Quoted as RFC 4180 wants it. */
static void csv_text(struct buf *out, const char *s)
{
	if (!strpbrk(s, ",\"\n\r")) {
		buf_adds(out, s);
		return;
	}
	buf_addc(out, '"');
	for (; *s; s++) {
		if (*s == '"')
			buf_addc(out, '"');
		buf_addc(out, *s);
	}
	buf_addc(out, '"');
}

void export_csv(struct arena *a, const struct export_results *r, struct buf *out)
{
	buf_adds(out, "command,mean,stddev,median,user,system,min,max");
	for (size_t k = 0; r->n && k < r->series[0].n_parameters; k++) {
		buf_adds(out, ",parameter_");
		csv_text(out, r->series[0].parameters[k].name);
	}
	buf_addc(out, '\n');
	for (size_t i = 0; i < r->n; i++) {
		struct series_summary s = series_summarise(a, &r->series[i]);
		const double cells[] = { s.d.mean, s.d.sd, s.d.median, s.user_s, s.system_s,
			s.d.least, s.d.most };

		csv_text(out, r->series[i].name);
		for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) {
			buf_addc(out, ',');
			if (!isnan(cells[k]))
				buf_printf(out, "%.9g", cells[k]);
		}
		for (size_t k = 0; k < r->series[i].n_parameters; k++) {
			buf_addc(out, ',');
			csv_text(out, r->series[i].parameters[k].value);
		}
		buf_addc(out, '\n');
	}
}

static size_t fastest_of(struct arena *a, const struct export_results *r)
{
	size_t best = 0;

	for (size_t i = 1; i < r->n; i++)
		if (series_summarise(a, &r->series[i]).d.mean <
			series_summarise(a, &r->series[best]).d.mean)
			best = i;
	return best;
}

void export_markdown(struct arena *a, const struct export_results *r, struct buf *out)
{
	struct series_summary best = series_summarise(a, &r->series[fastest_of(a, r)]);
	double scale = best.d.mean < 1e-6 ? 1e9
		: best.d.mean < 1e-3      ? 1e6
		: best.d.mean < 1         ? 1e3
					  : 1;
	const char *unit = scale == 1e9 ? "ns" : scale == 1e6 ? "µs" : scale == 1e3 ? "ms" : "s";

	buf_printf(out,
		"| Command | Mean [%s] | Min [%s] | Max [%s] | Relative |\n|:---|---:|---:|---:|---:|\n",
		unit, unit, unit);
	for (size_t i = 0; i < r->n; i++) {
		struct series_summary s = series_summarise(a, &r->series[i]);

		buf_adds(out, "| `");
		for (const char *c = r->series[i].name; *c; c++)
			buf_printf(out, *c == '|' ? "\\|" : "%c", *c == '\n' ? ' ' : *c);
		buf_printf(out, "` | %.1f ± %.1f | %.1f | %.1f | %.2f |\n", scale * s.d.mean,
			scale * (isnan(s.d.sd) ? 0 : s.d.sd), scale * s.d.least, scale * s.d.most,
			s.d.mean / best.d.mean);
	}
}

static const struct {
	const char *name;
	export_writer write;
} writers[] = {
	{ "csv", export_csv },
	{ "hyperfine", export_hyperfine },
	{ "markdown", export_markdown },
	{ "pyperf", export_pyperf },
	{ "pytest-benchmark", export_pytest_benchmark },
};

export_writer export_find(const char *name)
{
	for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
		if (strcmp(writers[i].name, name) == 0)
			return writers[i].write;
	return NULL;
}

const char *export_names(void)
{
	return "csv, hyperfine, markdown, pyperf, pytest-benchmark";
}
