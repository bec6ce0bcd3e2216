/* SPDX-License-Identifier: MIT
 * See torch.h. */
#include "json/torch.h"

#include "analyze/torch/compile.h"
#include "analyze/torch/compile_log.h"
#include "base/json_write.h"
#include "base/banned.h"

static void stages_json(const double stages_s[OP_N_STAGES], struct json_writer *w)
{
	json_key(w, "stages_s");
	json_object_begin(w);
	for (unsigned i = 0; i < OP_N_STAGES; i++)
		json_kv_double(w, op_stage_names[i], stages_s[i]);
	json_object_end(w);
}

static void frames_json(const struct op_compile *x, size_t limit, struct json_writer *w)
{
	json_key(w, "frames");
	json_array_begin(w);
	for (size_t i = 0; i < x->n_frames && i < limit; i++) {
		const struct op_frame *f = &x->frames[i];

		json_object_begin(w);
		json_kv_string(w, "id", *f->id ? f->id : NULL);
		json_kv_string(w, "after_break_of", *f->within ? f->within : NULL);
		json_kv_string(w, "function", f->told ? f->told->function : NULL);
		json_kv_string(w, "file", f->told ? f->told->file : NULL);
		json_key(w, "line");
		if (f->told)
			json_u64(w, f->told->line);
		else
			json_null(w);
		json_kv_u64(w, "compiled", f->n_compiled);
		json_kv_u64(w, "calls", f->n_calls);
		json_kv_double(w, "compile_s", f->compile_s);
		json_kv_double(w, "first_s", f->first_s);
		json_kv_double(w, "later_s", f->later_s);
		json_kv_double(w, "equal_calls", f->equal_calls);
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "graph_breaks");
	json_array_begin(w);
	for (size_t i = 0; i < x->n_places && i < limit; i++) {
		json_object_begin(w);
		json_kv_string(w, "where", x->breaks[i].where);
		json_kv_u64(w, "times", x->breaks[i].n_times);
		json_object_end(w);
	}
	json_array_end(w);
}

static void told_json(
	const char *key, const struct op_compile_log_break *v, size_t n, struct json_writer *w)
{
	json_key(w, key);
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_object_begin(w);
		json_kv_string(w, "reason", v[i].reason);
		json_kv_string(w, "file", *v[i].file ? v[i].file : NULL);
		json_kv_string(w, "function", *v[i].function ? v[i].function : NULL);
		json_kv_u64(w, "line", v[i].line);
		json_kv_u64(w, "times", v[i].n_times);
		json_object_end(w);
	}
	json_array_end(w);
}

void op_compile_json(const struct op_compile *x, size_t limit, struct json_writer *w)
{
	json_key(w, "compilation");
	json_object_begin(w);
	json_kv_double(w, "total_s", x->seconds);
	json_kv_double(w, "span_s", x->span_s);
	json_kv_u64(w, "again", x->n_again);
	json_kv_u64(w, "backward", x->n_backward);
	json_kv_u64(w, "cached", x->n_cached);
	json_kv_u64(w, "tuning", x->n_tuning);
	json_kv_u64(w, "scripts", x->n_scripts);
	json_kv_double(w, "scripts_s", x->scripts_s);
	json_kv_u64(w, "calls", x->n_calls);
	json_kv_u64(w, "calls_after_breaks", x->n_breaks);
	json_kv_double(w, "triton_s", x->triton_s);
	stages_json(x->stages_s, w);
	frames_json(x, limit, w);
	told_json("break_reasons", x->told->breaks, x->told->n_breaks, w);
	told_json("explained", x->told->explained, x->told->n_explained, w);
	json_key(w, "compilations");
	json_array_begin(w);
	for (size_t i = 0; i < x->n && i < limit; i++) {
		const struct op_compilation *c = &x->v[i];

		json_object_begin(w);
		json_kv_string(w, "id", *c->id ? c->id : NULL);
		json_kv_double(w, "at_s", c->at_s);
		json_kv_double(w, "duration_s", c->seconds);
		json_kv_string(w, "reason", *c->reason ? c->reason : NULL);
		json_kv_bool(w, "backward", c->is_backward);
		json_kv_bool(w, "again", c->is_again);
		json_kv_bool(w, "cached", c->is_cached);
		json_kv_bool(w, "tuning", c->is_tuning);
		json_kv_bool(w, "script", c->is_script);
		stages_json(c->stages_s, w);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}
