/* SPDX-License-Identifier: MIT
 * See torch.h. */
#include "json/torch.h"

#include <math.h>

#include "advise/advice.h"
#include "advise/finding.h"
#include "analyze/torch/events.h"
#include "analyze/torch/phases.h"
#include "analyze/torch/slow.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/work.h"
#include "base/json_write.h"
#include "json/finding.h"
#include "base/banned.h"

static void parts_json(const char *key, const double parts_s[OP_N_PARTS], struct json_writer *w)
{
	json_key(w, key);
	json_object_begin(w);
	for (unsigned i = 0; i < OP_N_PARTS; i++)
		json_kv_double(w, op_part_names[i], parts_s[i]);
	json_object_end(w);
}

/* The name of a phase where its time is known, though it may be 0. */
static bool is_known(const struct op_phases *p, unsigned phase)
{
	return (phase != OP_PHASE_IMPORTS || p->has_imports) &&
		(phase != OP_PHASE_SAVING || p->has_saving);
}

static void phases_json(const struct op_phases *p, struct json_writer *w)
{
	json_key(w, "phases");
	json_array_begin(w);
	for (unsigned i = 0; p && i < OP_N_PHASES; i++) {
		json_object_begin(w);
		json_kv_string(w, "name",
			i == OP_PHASE_TRAINING && !p->is_training ? "steps" : op_phase_names[i]);
		json_kv_double(w, "total_s", is_known(p, i) ? p->seconds[i] : NAN);
		json_kv_u64(w, "times", p->n_times[i]);
		if (i == OP_PHASE_VALIDATION)
			json_kv_double(w, "passes", p->n_passes ? (double)p->n_passes : NAN);
		json_object_end(w);
	}
	json_array_end(w);
}

void op_overview_json(const struct op_events *x, const struct op_steps *steps,
	const struct op_phases *phases, const struct advice *advice, struct json_writer *w)
{
	json_key(w, "overview");
	json_object_begin(w);
	json_kv_string(w, "device", *x->device_name ? x->device_name : NULL);
	json_kv_u64(w, "steps", steps->n);
	json_kv_bool(w, "steps_marked", steps->is_marked);
	json_kv_string(w, "steps_found", op_steps_how_names[steps->how]);
	json_kv_double(w, "steps_process", steps->pid ? steps->pid : NAN);
	json_kv_u64(w, "processes", steps->n_processes);
	json_kv_double(w, "optimizer_calls", steps->n_calls ? steps->n_calls : NAN);
	json_kv_double(w, "micro_batches", steps->n_micro ? steps->n_micro : NAN);
	phases_json(phases, w);
	json_kv_double(w, "total_s", steps->seconds);
	json_kv_double(w, "median_s", steps->median_s);
	json_kv_double(w, "p99_s", steps->p99_s);
	parts_json("parts_s", steps->parts_s, w);
	json_kv_double(w, "busy_s", steps->kernel_s > 0 ? steps->busy_s : NAN);
	json_kv_double(w, "kernel_s", steps->kernel_s > 0 ? steps->kernel_s : NAN);
	json_kv_double(w, "tensor_core_s", steps->kernel_s > 0 ? steps->tensor_core_s : NAN);
	json_kv_double(w, "sm_efficiency_share", steps->sm_efficiency);
	json_kv_double(w, "occupancy_share", steps->occupancy);
	json_kv_double(w, "peak_bytes", steps->peak_bytes ? (double)steps->peak_bytes : NAN);
	json_key(w, "advice");
	json_array_begin(w);
	for (size_t i = 0; i < advice->n; i++)
		finding_json(&advice->v[i], w);
	json_array_end(w);
	json_kv_double(w, "together_s", advice->together_s);
	json_kv_double(w, "collecting_share", op_work_collecting(x, steps));
	json_kv_double(w, "collecting_call_s",
		x->collected.cost_ns ? (double)x->collected.cost_ns / 1e9 : NAN);
	json_kv_double(w, "steps_per_s",
		steps->how == OP_STEPS_ALL ? NAN : (double)steps->n / steps->seconds);
	json_object_end(w);
}

void op_steps_json(const struct op_steps *steps, size_t limit, struct json_writer *w)
{
	json_key(w, "step_times");
	json_object_begin(w);
	json_kv_u64(w, "n", steps->n);
	json_kv_double(w, "median_s", steps->median_s);
	json_kv_double(w, "p99_s", steps->p99_s);
	json_kv_double(w, "max_s", steps->max_s);
	parts_json("median_parts_s", steps->median_parts_s, w);
	json_object_end(w);
	json_key(w, "steps");
	json_array_begin(w);
	for (size_t i = 0; i < steps->n && i < limit; i++) {
		const struct op_step *s = &steps->v[i];

		json_object_begin(w);
		json_kv_string(w, "name", s->name);
		json_kv_double(w, "duration_s", (double)(s->end_ns - s->start_ns) / 1e9);
		parts_json("parts_s", s->parts_s, w);
		json_object_end(w);
	}
	json_array_end(w);
}

void op_slow_json(const struct op_slow *slow, const struct op_steps *steps, struct json_writer *w)
{
	json_key(w, "slow_steps");
	json_array_begin(w);
	for (size_t i = 0; i < slow->n; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", steps->v[slow->v[i].step].name);
		json_kv_string(w, "median", steps->v[slow->median].name);
		json_kv_double(w, "duration_s", slow->v[i].seconds);
		json_key(w, "more");
		json_array_begin(w);
		for (size_t k = 0; k < slow->v[i].n; k++) {
			const struct op_slow_row *r = &slow->v[i].v[k];

			json_object_begin(w);
			json_kv_string(w, "name", r->name);
			json_kv_bool(w, "on_device", r->is_device);
			json_kv_double(w, "total_s", r->seconds);
			json_kv_double(w, "median_s", r->median_s);
			json_kv_u64(w, "times", r->n_times);
			json_kv_u64(w, "median_times", r->n_median);
			if (r->waited_s > 0)
				json_kv_double(w, "waited_s", r->waited_s);
			json_object_end(w);
		}
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
}

void op_work_json(const struct op_work *work, struct json_writer *w)
{
	json_key(w, "work");
	if (!work) {
		json_null(w);
		return;
	}
	json_object_begin(w);
	json_kv_double(w, "flops", work->flops);
	json_kv_double(w, "flops_per_s", work->per_s);
	json_kv_double(w, "peak_flops_per_s", work->peak_per_s);
	json_kv_string(w, "peak", work->peak);
	json_kv_double(w, "peak_flops_share", work->share);
	json_object_end(w);
}
