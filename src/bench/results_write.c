/* SPDX-License-Identifier: MIT
 * See results_write.h. */
#include "bench/results_write.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "bench/environment.h"
#include "bench/export.h"
#include "store/writer.h"
#include "base/banned.h"

static void add_meta(struct writer *w, const struct export_results *r)
{
	const struct environment *e = r->environment;
	char cpus[16];

	snprintf(cpus, sizeof cpus, "%d", e->cpus.online);
	writer_meta(w, "tool", "leadline " LEADLINE_VERSION);
	writer_meta(w, "host", e->host);
	writer_meta(w, "bench_cpu", e->cpu);
	writer_meta(w, "bench_cpus", cpus);
	writer_meta(w, "bench_governor", e->governor);
	writer_meta(w, "bench_turbo", e->turbo);
	writer_meta(w, "bench_clock", e->clock);
	writer_meta(w, "bench_kernel", e->kernel);
	writer_meta(w, "bench_aslr", e->has_aslr ? "on" : "off");
	writer_meta(w, "bench_python", r->python ? r->python : "");
	writer_meta(w, "bench_commit", e->commit);
	writer_meta(w, "bench_date", e->date);
}

static void add_process(
	struct writer *w, const struct series *s, uint32_t name, size_t run, uint32_t parameters)
{
	const struct series_process *p = &s->processes[run];

	writer_add(w, RECORD_environment,
		&(struct rec_environment){ .t_ns = p->t_ns,
			.series = name,
			.run = (uint32_t)run,
			.load = p->state.load,
			.pressure_pct = p->state.pressure_pct,
			.stolen_s = p->state.stolen_s,
			.frequency_hz = p->state.frequency_hz });
	writer_add(w, RECORD_bench_run,
		&(struct rec_bench_run){ .series = name,
			.run = (uint32_t)run,
			.is_command = s->is_command,
			.is_unsteady = p->is_unsteady,
			.first_s = p->first_s,
			.max_rss_bytes = p->max_rss_bytes,
			.exit_status = (uint32_t)p->exit_status,
			.parameters = parameters,
			.notes = run == 0 ? writer_string(w, s->notes) : 0 });
	for (size_t i = 0; i < p->n; i++)
		writer_add(w, RECORD_bench,
			&(struct rec_bench){ .t_ns = p->t_ns,
				.series = name,
				.run = (uint32_t)run,
				.loops = p->loops,
				.seconds = p->v[i].seconds * (double)p->loops,
				.is_warmup = i < p->n_warmup,
				.user_s = p->v[i].user_s,
				.system_s = p->v[i].system_s,
				.preempted = p->v[i].n_preempted,
				.minor_faults = p->v[i].n_minor_faults,
				.major_faults = p->v[i].n_major_faults });
}

static void add_series(struct writer *w, const struct series *s)
{
	struct buf text = BUF_INIT;
	uint32_t name = writer_string(w, s->name), parameters;

	for (size_t i = 0; i < s->n_parameters; i++)
		buf_printf(&text, "%s%s=%s", i ? "\n" : "", s->parameters[i].name,
			s->parameters[i].value);
	parameters = writer_string(w, buf_str(&text));
	for (size_t i = 0; i < s->n; i++)
		add_process(w, s, name, i, parameters);
	buf_done(&text);
}

int results_save(const struct export_results *r, const char *path, struct err *e)
{
	struct writer *w;

	if (writer_open(&w, path, &(struct writer_options){ .overwrite = true }, e) < 0)
		return -(int)e->code;
	add_meta(w, r);
	for (size_t i = 0; i < r->n; i++)
		add_series(w, &r->series[i]);
	return writer_close(w, e);
}
