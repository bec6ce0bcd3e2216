/* SPDX-License-Identifier: MIT
 * See regions.h. */
#include "json/regions.h"

#include "analyze/samples/regions.h"
#include "analyze/torch/training.h"
#include "base/json_write.h"
#include "base/units.h"
#include "base/banned.h"

void regions_json(const struct regions *r, struct json_writer *w)
{
	json_key(w, "regions");
	json_array_begin(w);
	for (size_t i = 0; i < r->n; i++) {
		const struct region *x = &r->v[i];

		json_object_begin(w);
		json_kv_string(w, "name", x->name);
		json_kv_double(w, "total_s", x->seconds);
		json_kv_u64(w, "times", x->n_times);
		json_kv_double(w, "min_s", x->min_s);
		json_kv_double(w, "max_s", x->max_s);
		json_kv_u64(w, "threads", x->n_threads);
		json_object_end(w);
	}
	json_array_end(w);
}

void training_json(const struct training *t, struct json_writer *w)
{
	json_key(w, "training");
	json_object_begin(w);
	json_kv_u64(w, "steps", t->n_steps);
	json_kv_u64(w, "processes", t->n_processes);
	json_kv_u64(w, "samples", t->samples);
	json_kv_u64(w, "tokens", t->tokens);
	json_kv_double(w, "steps_per_s", t->steps_per_s);
	json_kv_double(w, "samples_per_s", t->samples ? t->samples_per_s : UNITS_UNKNOWN);
	json_kv_double(w, "tokens_per_s", t->tokens ? t->tokens_per_s : UNITS_UNKNOWN);
	json_kv_double(w, "median_s", t->median_s);
	json_kv_double(w, "p99_s", t->p99_s);
	json_kv_double(w, "max_s", t->max_s);
	json_object_end(w);
}
