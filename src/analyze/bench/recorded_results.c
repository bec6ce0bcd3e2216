/* SPDX-License-Identifier: MIT
 * See recorded_results.h. */
#include "analyze/bench/recorded_results.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

/* One process while it is gathered. */
struct gathered {
	uint32_t series, run; /* series: global string number */
	struct series_process process;
	VEC(struct series_value) values;
	bool is_command;
	const char *parameters, *notes;
	size_t next; /* process of the same series; SIZE_MAX: none */
};

struct row {
	uint32_t name; /* global string number */
	size_t first, last;
};

struct builder {
	struct arena *a;
	struct tables *t;
	VEC(struct gathered) processes;
	VEC(struct row) rows;
	struct map by_run, by_name; /* to indexes of the two */
};

bool recorded_results_are_in(const struct reader *r)
{
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].kind == RECORD_bench)
			return true;
	return false;
}

/* Puts the process last in the row of its series. */
static void link_process(struct builder *b, uint32_t series, size_t index)
{
	uint64_t at;

	if (!map_find(&b->by_name, series, &at)) {
		map_put(&b->by_name, series, b->rows.n);
		vec_push(&b->rows, (struct row){ series, index, index });
		return;
	}
	b->processes.v[b->rows.v[at].last].next = index;
	b->rows.v[at].last = index;
}

static struct gathered *process_of(struct builder *b, uint32_t series, uint32_t run)
{
	uint64_t key = (uint64_t)series << 32 | run, at;

	if (map_find(&b->by_run, key, &at))
		return &b->processes.v[at];
	map_put(&b->by_run, key, b->processes.n);
	vec_push(&b->processes,
		(struct gathered){ .series = series,
			.run = run,
			.process = { .first_s = NAN, .loops = 1, .state = { NAN, NAN, NAN, NAN } },
			.parameters = "",
			.notes = "",
			.next = SIZE_MAX });
	link_process(b, series, b->processes.n - 1);
	return &b->processes.v[b->processes.n - 1];
}

static void read_runs(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_bench_run);

	for (const struct rec_bench_run *r; (r = record_next(&it));) {
		struct gathered *g = process_of(b, r->series, r->run);

		g->process.first_s = r->first_s;
		g->process.is_unsteady = r->is_unsteady;
		g->process.max_rss_bytes = r->max_rss_bytes;
		g->process.exit_status = (int)(r->exit_status & 0xff);
		g->is_command = r->is_command;
		g->parameters = tables_string(b->t, r->parameters);
		g->notes = tables_string(b->t, r->notes);
	}
	record_iter_done(&it);
}

static void read_values(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_bench);
	struct gathered *g = NULL;

	for (const struct rec_bench *r; (r = record_next(&it));) {
		if (!(r->seconds >= 0) || !isfinite(r->seconds) || !r->loops)
			continue;
		if (!g || g->series != r->series || g->run != r->run)
			g = process_of(b, r->series, r->run);
		g->process.loops = r->loops;
		g->process.t_ns = r->t_ns;
		if (r->is_warmup && g->process.n_warmup == g->values.n)
			g->process.n_warmup++;
		vec_push(&g->values,
			(struct series_value){ .seconds = r->seconds / (double)r->loops,
				.user_s = r->user_s,
				.system_s = r->system_s,
				.n_preempted = r->preempted,
				.n_minor_faults = r->minor_faults,
				.n_major_faults = r->major_faults });
	}
	record_iter_done(&it);
}

static void read_states(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_environment);

	for (const struct rec_environment *r; (r = record_next(&it));)
		process_of(b, r->series, r->run)->process.state = (struct series_state){ r->load,
			r->pressure_pct, r->stolen_s, r->frequency_hz };
	record_iter_done(&it);
}

/* "n=1000\nlevel=9" */
static void split_parameters(struct arena *a, const char *text, struct series *to)
{
	struct series_parameter *v;
	size_t n = *text ? 1 : 0;

	for (const char *c = text; *c; c++)
		n += *c == '\n';
	v = arena_new_n(a, struct series_parameter, n);
	to->parameters = v;
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t line = strcspn(text, "\n");
		const char *equals = memchr(text, '=', line);

		if (equals)
			v[to->n_parameters++] = (struct series_parameter){
				arena_strndup(a, text, (size_t)(equals - text)),
				arena_strndup(a, equals + 1, line - (size_t)(equals + 1 - text))
			};
	}
}

/* Those of one series that have a value that counts. */
static void add_series(struct builder *b, const struct row *row, struct series *to)
{
	const struct gathered *first = NULL;
	VEC(struct series_process) all = VEC_INIT;

	for (size_t i = row->first; i != SIZE_MAX; i = b->processes.v[i].next) {
		struct gathered *g = &b->processes.v[i];

		if (g->values.n <= g->process.n_warmup)
			continue;
		first = first ? first : g;
		g->process.n = g->values.n;
		g->process.v = arena_copy(b->a, g->values.v, g->values.n * sizeof *g->values.v);
		vec_push(&all, g->process);
	}
	if (first) {
		*to = (struct series){ .name = arena_strdup(b->a, tables_string(b->t, row->name)),
			.unit_of_run = first->is_command ? "run" : "batch",
			.processes = arena_copy(b->a, all.v, all.n * sizeof *all.v),
			.n = all.n,
			.is_command = first->is_command,
			.notes = arena_strdup(b->a, first->notes) };
		split_parameters(b->a, first->parameters, to);
	}
	vec_done(&all);
}

static void read_meta(struct builder *b, struct recorded_results *to)
{
	const struct {
		const char *key, **to;
	} rows[] = { { "host", &to->host }, { "bench_cpu", &to->cpu }, { "bench_cpus", &to->cpus },
		{ "bench_governor", &to->governor }, { "bench_turbo", &to->turbo },
		{ "bench_clock", &to->clock }, { "bench_kernel", &to->kernel },
		{ "bench_aslr", &to->aslr }, { "bench_python", &to->python },
		{ "bench_commit", &to->commit }, { "bench_date", &to->date } };
	const size_t n = sizeof rows / sizeof *rows;
	struct record_iter it = record_iter(b->t, RECORD_meta);

	for (size_t i = 0; i < n; i++)
		*rows[i].to = "";
	for (const struct rec_meta *m; (m = record_next(&it));)
		for (size_t i = 0; i < n; i++)
			if (strcmp(tables_string(b->t, m->key), rows[i].key) == 0)
				*rows[i].to =
					arena_strndup(b->a, (const char *)m->value.p, m->value.n);
	record_iter_done(&it);
}

const struct recorded_results *recorded_results_build(struct arena *a, struct tables *t)
{
	struct builder b = { .a = a, .t = t };
	struct recorded_results *all = arena_new(a, struct recorded_results);

	read_runs(&b);
	read_values(&b);
	read_states(&b);
	all->v = arena_new_n(a, struct series, b.rows.n);
	vec_each (&b.rows, row) {
		add_series(&b, row, &all->v[all->n]);
		all->n += all->v[all->n].n > 0;
	}
	read_meta(&b, all);
	vec_each (&b.processes, g)
		vec_done(&g->values);
	vec_done(&b.processes);
	vec_done(&b.rows);
	map_done(&b.by_run);
	map_done(&b.by_name);
	return all;
}
