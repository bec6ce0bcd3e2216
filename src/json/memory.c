/* SPDX-License-Identifier: MIT
 * See memory.h. */
#include "json/memory.h"

#include "analyze/host/usage.h"
#include "analyze/memory/memory.h"
#include "analyze/recording.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/json_write.h"
#include "base/units.h"
#include "json/functions.h"
#include "json/lines.h"
#include "json/values.h"
#include "base/banned.h"

static void begin_estimate(const char *key, const struct sampled_sum *s, struct json_writer *w)
{
	struct interval i = sampled_sum_interval(s);

	json_key(w, key);
	json_object_begin(w);
	json_kv_double(w, "bytes", s->value);
	json_kv_double(w, "bytes_low", i.low);
	json_kv_double(w, "bytes_high", i.high);
	json_kv_double(w, "blocks", s->count);
	json_kv_u64(w, "samples", s->n);
}

/* What is said of one process, and of all. */
static void sums_json(const struct memory_sums *s, struct json_writer *w)
{
	begin_estimate("peak", &s->peak, w);
	json_kv_double(w, "t_s", s->peak_s);
	json_object_end(w);
	begin_estimate("end", &s->live, w);
	json_object_end(w);
	begin_estimate("allocated", &s->allocated, w);
	json_kv_double(w, "counted_bytes", s->counted_bytes);
	json_kv_double(w, "counted_blocks", s->counted_n);
	json_object_end(w);
	json_kv_u64(w, "dropped_samples", s->n_dropped);
	json_kv_u64(w, "dropped_releases", s->n_frees_dropped);
}

static void processes_json(struct recording *r, const struct memory *m, struct json_writer *w)
{
	json_key(w, "processes");
	json_array_begin(w);
	for (size_t i = 0; i < m->blocks->n_processes; i++) {
		const struct memory_process *p = &m->blocks->processes[i];
		const struct usage_process *u = NULL;

		for (size_t k = 0; k < r->usage->n_processes; k++)
			if (r->usage->processes[k].pid == p->pid)
				u = &r->usage->processes[k];
		json_object_begin(w);
		json_kv_u64(w, "pid", p->pid);
		json_kv_string(w, "command", p->command);
		json_kv_double(w, "max_rss_bytes", u ? u->max_rss_bytes : UNITS_UNKNOWN);
		sums_json(&m->processes[i], w);
		json_object_end(w);
	}
	json_array_end(w);
}

static void curve_json(const struct memory *m, struct json_writer *w)
{
	json_key(w, "curve");
	json_array_begin(w);
	for (size_t i = 0; i < m->n_points; i++) {
		json_object_begin(w);
		json_kv_double(w, "t_s", m->curve[i].t_s);
		json_kv_double(w, "bytes", m->curve[i].bytes);
		json_object_end(w);
	}
	json_array_end(w);
}

void memory_json(struct recording *r, const struct memory *m, struct json_writer *w)
{
	sums_json(&m->all, w);
	json_kv_double(w, "period_bytes", m->period_bytes);
	json_kv_bool(w, "is_at_least", m->is_at_least);
	json_kv_bool(w, "is_at_most", m->is_at_most);
	processes_json(r, m, w);
	curve_json(m, w);
}

void memory_view_json(const struct selection *s, const struct profile *rows, struct json_writer *w)
{
	const struct memory_part *m = s->memory;

	json_object_begin(w);
	json_kv_string(w, "view", memory_views[m->view]);
	json_kv_double(w, "from_s", m->from_s);
	json_kv_double(w, "to_s", m->to_s);
	total_json(UNIT_BYTES, s->stacks->value, w);
	json_kv_double(w, "total_low", m->interval.low);
	json_kv_double(w, "total_high", m->interval.high);
	json_kv_double(
		w, "given_back_bytes", m->view == MEMORY_GROWTH ? m->given_back : UNITS_UNKNOWN);
	json_key(w, "functions");
	functions_json_rows(
		rows, NULL, s->stacks->frames, &(struct json_rows){ .n = rows->n_functions }, w);
	json_key(w, "lines");
	lines_json_rows(rows, 0, rows->n_lines, w);
	json_object_end(w);
}
