/* SPDX-License-Identifier: MIT
 * See host.h. */
#include "json/host.h"

#include <stdint.h>
#include <sys/wait.h>

#include "analyze/fidelity.h"
#include "analyze/host/bound.h"
#include "analyze/host/usage.h"
#include "base/json_write.h"
#include "base/units.h"
#include "base/banned.h"

static void bound_json(const struct bound *b, struct json_writer *w)
{
	json_key(w, "bound");
	json_object_begin(w);
	json_kv_string(w, "verdict", b->is_known ? bound_names[b->verdict] : NULL);
	json_kv_double(w, "share", b->decided);
	json_kv_bool(w, "is_estimate", b->is_estimate);
	json_key(w, "shares");
	json_object_begin(w);
	for (int k = 0; k < BOUND_MIXED; k++)
		json_kv_double(w, bound_names[k], b->share[k]);
	json_object_end(w);
	json_object_end(w);
}

void processes_json_rows(const struct usage *u, size_t n, struct json_writer *w)
{
	json_array_begin(w);
	for (size_t i = 0; i < u->n_processes && i < n; i++) {
		const struct usage_process *p = &u->processes[i];

		json_object_begin(w);
		json_kv_u64(w, "pid", p->pid);
		json_kv_u64(w, "parent", p->parent);
		json_kv_string(w, "command", p->command);
		json_kv_double(w, "rank", p->rank >= 0 ? p->rank : UNITS_UNKNOWN);
		json_kv_double(w, "start_s", p->start_s);
		json_kv_double(w, "end_s", p->end_s);
		json_kv_double(w, "user_s", p->user_s);
		json_kv_double(w, "system_s", p->system_s);
		json_kv_double(w, "max_rss_bytes", p->max_rss_bytes);
		json_kv_bool(w, "is_exact", p->is_exact);
		json_kv_bool(w, "is_running", p->is_running);
		json_object_end(w);
	}
	json_array_end(w);
}

static void series_json(const struct usage *u, struct json_writer *w)
{
	json_key(w, "series");
	json_array_begin(w);
	for (size_t i = 0; i < u->n_ticks; i++) {
		const struct usage_tick *t = &u->ticks[i];

		json_object_begin(w);
		json_kv_double(w, "t_s", t->t_s);
		json_kv_double(w, "cpus", t->cpu);
		json_kv_double(w, "rss_bytes", t->rss_bytes);
		json_kv_double(w, "read_bytes_per_s", t->read_bytes_per_s);
		json_kv_double(w, "write_bytes_per_s", t->write_bytes_per_s);
		json_kv_double(w, "threads", t->n_threads);
		json_kv_u64(w, "running", t->n_running);
		json_kv_u64(w, "disk", t->n_disk);
		json_object_end(w);
	}
	json_array_end(w);
}

void usage_json(const struct usage *u, const struct bound *b, struct json_writer *w)
{
	const struct {
		const char *key;
		double value;
	} numbers[] = {
		{ "wall_s", u->wall_s },
		{ "user_s", u->user_s },
		{ "system_s", u->system_s },
		{ "unwaited_cpu_s", u->unwaited_cpu_s },
		{ "parallelism", usage_cpus_used(u) },
		{ "parallelism_wanted", b->parallelism_wanted },
		{ "cpus_allowed", u->cpus_allowed },
		{ "max_rss_bytes", u->max_rss_bytes },
		{ "peak_tree_rss_bytes", u->peak_tree_rss_bytes },
		{ "mean_tree_rss_bytes", u->mean_tree_rss_bytes },
		{ "pss_bytes", u->peak_pss_bytes },
		{ "rss_growth_bytes_per_s", u->rss_growth_per_s },
		{ "minor_faults", u->minor_faults },
		{ "major_faults", u->major_faults },
		{ "voluntary_switches", u->voluntary_switches },
		{ "involuntary_switches", u->involuntary_switches },
		{ "read_bytes", u->read_bytes },
		{ "write_bytes", u->write_bytes },
		{ "read_chars", u->read_chars },
		{ "write_chars", u->write_chars },
		{ "read_calls", u->read_calls },
		{ "write_calls", u->write_calls },
		{ "pressure_cpu_share", u->pressure_cpu },
		{ "pressure_io_share", u->pressure_io },
		{ "pressure_memory_share", u->pressure_memory },
		{ "peak_threads", u->peak_threads },
		{ "processes", u->is_foreign ? UNITS_UNKNOWN : (double)u->n_processes },
		{ "own_cpu_s", u->own_cpu_s },
	};

	json_key(w, "command");
	json_array_begin(w);
	for (size_t i = 0; u->argv[i]; i++)
		json_string(w, u->argv[i]);
	json_array_end(w);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		json_kv_double(w, numbers[i].key, numbers[i].value);
	json_kv_bool(w, "processes_complete", u->is_complete);
	json_key(w, "exit_status");
	if (u->status == -1)
		json_null(w);
	else
		json_i64(w,
			WIFSIGNALED(u->status) ? 128 + WTERMSIG(u->status)
					       : WEXITSTATUS(u->status));
	json_key(w, "signal");
	if (u->status != -1 && WIFSIGNALED(u->status))
		json_i64(w, WTERMSIG(u->status));
	else
		json_null(w);
	bound_json(b, w);
	json_key(w, "process_list");
	processes_json_rows(u, SIZE_MAX, w);
	series_json(u, w);
}

void fidelity_json(const struct fidelity *f, struct json_writer *w)
{
	json_key(w, "fidelity");
	json_object_begin(w);
	json_kv_string(w, "engine", f->engine);
	json_kv_string(w, "interpreter", f->interpreter);
	json_kv_string(w, "excluded", f->excluded);
	json_kv_double(w, "samples", f->samples);
	json_kv_double(w, "lost", f->lost);
	json_kv_double(w, "shortened", f->shortened);
	json_kv_double(w, "missed_ticks", f->missed_ticks);
	json_kv_double(w, "rate_asked_hz", f->rate_asked_hz);
	json_kv_double(w, "rate_reached_hz", f->rate_reached_hz);
	json_kv_double(w, "rate_lowered_by", f->lowered_by);
	json_kv_double(w, "timeline_events", f->timeline_events);
	json_kv_double(w, "timeline_bytes", f->timeline_bytes);
	json_kv_double(w, "timeline_lost", f->timeline_lost);
	json_kv_double(w, "own_cpu_s", f->own_cpu_s);
	json_kv_double(w, "slowdown_share", f->slowdown);
	json_kv_double(w, "operators_slowdown_share", f->ops_slowdown);
	json_object_end(w);
}
