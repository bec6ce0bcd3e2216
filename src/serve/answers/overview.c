/* SPDX-License-Identifier: MIT
 * Answer "overview": what the recording is, what it is bound by, its hottest rows, and what views can be filled. */
#include <math.h>
#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/regions.h"
#include "analyze/samples/stacks.h"
#include "analyze/samples/thread_states.h"
#include "analyze/torch/results.h"
#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "json/functions.h"
#include "json/books.h"
#include "json/host.h"
#include "json/lines.h"
#include "json/regions.h"
#include "json/threads.h"
#include "json/values.h"
#include "serve/answers/parts.h"
#include "serve/library.h"
#include "serve/http/params.h"
#include "store/reader.h"
#include "store/tables.h"
#include "view/host/usage.h"
#include "base/banned.h"

enum { TOP = 20 };

static void write_recordings(const struct library *l, struct json_writer *w)
{
	json_key(w, "recordings");
	json_array_begin(w);
	for (size_t i = 0; i < l->recordings.n; i++) {
		struct recording *r = l->recordings.v[i];

		json_object_begin(w);
		json_kv_u64(w, "r", i);
		json_kv_string(w, "name", r->name);
		json_kv_string(w, "path", r->path);
		json_kv_string(w, "command", r->usage ? r->usage->command : "");
		json_kv_string(w, "damage", recording_damage(r));
		json_kv_bool(w, "has_operators", r->torch != NULL);
		json_kv_u64(w, "world_size", r->torch ? r->torch->x.world_size : 0);
		json_object_end(w);
	}
	json_array_end(w);
}

/* "" where another tool's file says nothing of it. */
static void write_verdict(const struct recording *r, struct json_writer *w)
{
	struct buf verdict = BUF_INIT, why = BUF_INIT;

	if (r->bound.is_known && !r->origin.is_foreign)
		usage_add_rule(r->usage, &r->bound, &why);
	if (!r->origin.is_foreign)
		usage_add_verdict(&r->bound, &verdict);
	json_kv_string(w, "verdict", buf_str(&verdict));
	json_kv_string(w, "verdict_why", buf_str(&why));
	buf_done(&verdict);
	buf_done(&why);
}

static uint64_t count_bytecode(const struct recording *r)
{
	uint64_t n = 0;

	for (uint32_t i = 1; i <= tables_count(r->tables, RECORD_code); i++) {
		const struct rec_code *code = tables_row(r->tables, RECORD_code, i);

		n += code && code->code_bytes.n > 0;
	}
	return n;
}

static uint64_t count_files(const struct profile *p)
{
	struct map seen = MAP_INIT;
	uint64_t n;

	for (size_t i = 0; i < p->n_functions; i++)
		if (*p->functions[i].file)
			map_put(&seen, (uintptr_t)p->functions[i].file, 1);
	n = seen.n;
	map_done(&seen);
	return n;
}

static void write_counts(const struct selection *s, struct json_writer *w)
{
	json_key(w, "counts");
	json_object_begin(w);
	json_kv_u64(w, "processes", s->recording->usage->n_processes);
	json_kv_u64(w, "threads", s->stacks->n_threads);
	json_kv_u64(w, "functions", s->profile ? s->profile->n_functions : 0);
	json_kv_u64(w, "lines", s->profile ? answer_n_lines(s, s->profile) : 0);
	json_kv_u64(w, "files", s->profile ? count_files(s->profile) : 0);
	json_kv_u64(w, "bytecode", count_bytecode(s->recording));
	json_object_end(w);
}

/* Samples lie in the order of time; calls that were counted do where they were kept one by one. */
static bool has_time_order(const struct selection *s, const struct thread_states *t)
{
	const struct reader *r = s->recording->reader;

	if (!s->stacks->nodes->n)
		return t->n_threads > 0;
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].kind == RECORD_call_events)
			return true;
	return false;
}

/* What can be filled is ""; else why not, and what to type. */
static void write_views(struct selection *s, bool has_results, struct json_writer *w)
{
	static const char *const none = "nothing was sampled: record with leadline run";
	static const char *const of_time = "this is shown of time: choose time instead of memory";
	struct recording *r = s->recording;
	bool has_profile = s->profile != NULL, is_foreign = r->origin.is_foreign;
	bool has_stacks = has_profile && (selection_is_parted(s) || s->stacks->n);
	const struct thread_states *t = recording_strips(r);
	const struct {
		const char *name, *why;
	} views[] = {
		{ "overview", !has_profile && r->torch ? none : "" },
		{ "flame",
			has_stacks            ? ""
				: has_profile ? "there are no stacks in it"
					      : none },
		{ "source",
			has_profile && answer_n_lines(s, s->profile) ? ""
				: has_profile ? "no lines were recorded: leadline run samples "
						"them, run --lines counts them"
					      : none },
		{ "bytecode",
			s->memory ? of_time
				: count_bytecode(r)
				? ""
				: "the recording holds no bytecode: leadline run keeps "
				  "that of functions that ten samples or more ended in" },
		{ "timeline",
			t->n_threads || r->usage->n_ticks ? ""
				: is_foreign              ? "such a file tells no times"
							  : "there is nothing in it with a time" },
		{ "time_order",
			s->memory                      ? of_time
				: has_time_order(s, t) ? ""
						       : "there is no order of time in it: run "
							 "--trace=timeline keeps that of calls" },
		{ "graph", has_profile ? "" : none },
		{ "table", has_profile ? "" : none },
		{ "torch",
			r->torch ? ""
				 : "no operators of PyTorch are in it: leadline view takes traces "
				   "of torch.profiler" },
	};

	json_key(w, "views");
	json_object_begin(w);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		json_kv_string(w, views[i].name, recording_why(r, views[i].why));
	json_kv_string(w, "native", "native frames are not recorded yet");
	json_kv_string(w, "kernel", "kernel frames are not recorded yet");
	json_kv_string(w, "gpu", "GPU activity is not recorded yet");
	json_kv_string(w, "memory",
		recording_why(r,
			recording_memory(r)
				? ""
				: "allocations were not recorded: leadline run --memory "
				  "records them"));
	json_kv_string(w, "bench",
		has_results ? ""
			    : "results of benchmarks can stand beside: leadline view FILE "
			      "results.json");
	json_object_end(w);
}

static void write_report(const struct selection *s, struct json_writer *w)
{
	struct recording *r = s->recording;

	json_key(w, "report");
	json_object_begin(w);
	usage_json(r->usage, &r->bound, w);
	fidelity_json(&r->fidelity, w);
	books_json(recording_books(r), w);
	idle_json(s->stacks, w);
	imports_json(s->stacks, w);
	threads_json(s->stacks, w);
	if (r->regions->n)
		regions_json(r->regions, w);
	json_object_end(w);
}

static void write_rows(struct selection *s, struct json_writer *w)
{
	const struct profile *p = s->profile;

	total_json(p ? p->unit : UNIT_SECONDS, p ? p->value : UNITS_UNKNOWN, w);
	json_kv_bool(w, "is_exact", p && p->is_exact);
	json_kv_bool(w, "is_call_graph", selection_is_parted(s));
	json_kv_bool(w, "has_calls", s->exact != NULL);
	if (!p)
		return;
	json_key(w, "functions");
	functions_json_rows(p, s->exact, s->recording->frames, &(struct json_rows){ .n = TOP }, w);
	json_key(w, "lines");
	if (s->exact_lines)
		counted_lines_json_rows(s->exact_lines, TOP, w);
	else
		lines_json_rows(p, 0, TOP, w);
}

/* Where there are no records: of results of benchmarks, or of a trace of torch whose operators alone are shown. */
static void write_without_records(const struct library *l, const char *name, const char *format,
	const char *why, bool has_torch, struct json_writer *w)
{
	static const char *const views[] = { "overview", "flame", "source", "timeline", "graph",
		"table" };

	json_kv_string(w, "version", LEADLINE_VERSION);
	write_recordings(l, w);
	json_kv_string(w, "name", name);
	json_kv_string(w, "format", format);
	json_kv_string(w, "unit", "s");
	json_kv_bool(w, "is_exact", true);
	json_kv_bool(w, "is_call_graph", false);
	json_key(w, "views");
	json_object_begin(w);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		json_kv_string(w, views[i], why);
	json_kv_string(w, "torch", has_torch ? "" : why);
	json_kv_string(w, "bench", l->results.n ? "" : "no results of benchmarks are open");
	json_object_end(w);
}

int answer_overview(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct selection *s;
	struct recording *r;
	double sampled_s, wall_s, from_s = 0, to_s = 0;

	if (!l->recordings.n && l->results.n) {
		write_without_records(l, l->results.v[0].name, l->results.v[0].format,
			"no recording is open", false, w);
		return 0;
	}
	if (library_find(l, p, &r, e) < 0)
		return -(int)e->code;
	if (!r->usage) {
		write_without_records(l, r->name, "torch",
			recording_why(r, "of such a trace of PyTorch only its operators are shown"),
			true, w);
		return 0;
	}
	if (library_select(l, p, LIBRARY_ROWS, &s, e) < 0 ||
		params_number(p, "from", 0, 1e9, &from_s, e) < 0 ||
		params_number(p, "to", 0, 1e9, &to_s, e) < 0)
		return -(int)e->code;
	sampled_s = (double)recording_strips(s->recording)->end_ns / 1e9;
	wall_s = units_is_known(r->usage->wall_s) ? r->usage->wall_s : 0;
	json_kv_string(w, "version", LEADLINE_VERSION);
	json_kv_string(w, "editor", l->editor ? l->editor : "");
	write_recordings(l, w);
	for (size_t i = 0; i < l->recordings.n; i++)
		if (l->recordings.v[i] == r)
			json_kv_u64(w, "r", i);
	json_kv_string(w, "name", r->name);
	json_kv_string(w, "format", r->origin.is_foreign ? r->origin.format : "leadline");
	json_kv_string(w, "measure", r->origin.measure);
	json_kv_string(w, "note", r->origin.note);
	json_kv_double(w, "begun_s",
		r->origin.is_foreign ? UNITS_UNKNOWN : (double)r->reader->begun_realtime_ns / 1e9);
	json_kv_double(w, "length_s", fmax(sampled_s, wall_s));
	write_verdict(r, w);
	states_json(s, w);
	write_counts(s, w);
	write_views(s, l->results.n > 0, w);
	write_rows(s, w);
	write_report(s, w);
	return 0;
}
