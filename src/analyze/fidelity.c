/* SPDX-License-Identifier: MIT
 * See fidelity.h. */
#include "analyze/fidelity.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct fidelity fidelity_build(struct arena *a, struct tables *t)
{
	struct fidelity f = { .engine = "",
		.interpreter = "",
		.no_python = "",
		.no_trace = "",
		.trace = "",
		.trace_notes = "",
		.excluded = "",
		.rate_asked_hz = UNITS_UNKNOWN,
		.rate_reached_hz = UNITS_UNKNOWN,
		.lowered_by = UNITS_UNKNOWN,
		.samples = UNITS_UNKNOWN,
		.lost = UNITS_UNKNOWN,
		.shortened = UNITS_UNKNOWN,
		.missed_ticks = UNITS_UNKNOWN,
		.timeline_events = UNITS_UNKNOWN,
		.timeline_bytes = UNITS_UNKNOWN,
		.timeline_lost = UNITS_UNKNOWN,
		.traced_processes = UNITS_UNKNOWN,
		.own_cpu_s = UNITS_UNKNOWN,
		.slowdown = UNITS_UNKNOWN,
		.ops_slowdown = UNITS_UNKNOWN,
		.file_bytes = tables_reader(t)->size_bytes };
	const struct {
		const char *key;
		double *value;
	} numbers[] = { { "rate_asked_hz", &f.rate_asked_hz },
		{ "rate_reached_hz", &f.rate_reached_hz }, { "samples", &f.samples },
		{ "rate_lowered_by", &f.lowered_by }, { "samples_lost", &f.lost },
		{ "samples_shortened", &f.shortened }, { "ticks_missed", &f.missed_ticks },
		{ "timeline_events", &f.timeline_events }, { "timeline_bytes", &f.timeline_bytes },
		{ "timeline_lost", &f.timeline_lost }, { "own_cpu_s", &f.own_cpu_s },
		{ "trace_processes", &f.traced_processes }, { "slowdown_est", &f.slowdown },
		{ "torch_slowdown_est", &f.ops_slowdown } };
	struct record_iter it = record_iter(t, RECORD_meta);

	for (const struct rec_meta *m; (m = record_next(&it));) {
		const char *key = tables_string(t, m->key),
			   *value = arena_strndup(a, m->value.p, m->value.n);

		if (strcmp(key, "engine") == 0)
			f.engine = value;
		else if (strcmp(key, "interpreter") == 0)
			f.interpreter = value;
		else if (strcmp(key, "no_python") == 0)
			f.no_python = value;
		else if (strcmp(key, "trace") == 0)
			f.trace = value;
		else if (strcmp(key, "no_trace") == 0)
			f.no_trace = value;
		else if (strcmp(key, "lines") == 0)
			f.lines = value;
		else if (strcmp(key, "exclude") == 0)
			f.excluded = value;
		else if (strcmp(key, "trace_notes") == 0)
			f.trace_notes = value;
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			if (strcmp(key, numbers[i].key) == 0)
				*numbers[i].value = strtod(value, NULL);
	}
	record_iter_done(&it);
	return f;
}

bool fidelity_lacks_agent(const struct fidelity *f)
{
	return f->traced_processes == 0 && !*f->no_trace && *f->trace_notes;
}
