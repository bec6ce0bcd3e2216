/* SPDX-License-Identifier: MIT
 * See torch.h. */
#include "json/torch.h"

#include <math.h>

#include "analyze/torch/diff.h"
#include "analyze/torch/modules.h"
#include "analyze/torch/neighbours.h"
#include "analyze/torch/table.h"
#include "json/values.h"
#include "base/banned.h"

enum { PLACES_MOST = 100 };

static void places_json(const struct ops *ops, const struct ops_row *r, struct json_writer *w)
{
	json_kv_u64(w, "n_places", r->n_places);
	json_key(w, "places");
	json_array_begin(w);
	for (size_t i = 0; i < r->n_places && i < PLACES_MOST; i++) {
		const struct ops_place *x = &r->places[i];

		json_object_begin(w);
		json_kv_string(w, "source", x->source);
		json_kv_string(w, "module", x->module);
		json_kv_bool(w, "backward", x->is_backward);
		json_kv_u64(w, "calls", x->n_calls);
		json_kv_double(w, "self_cpu_s", x->self_cpu_us / 1e6);
		json_kv_double(w, "cpu_s", x->cpu_us / 1e6);
		if (ops->has_device_time)
			json_kv_double(w, "self_device_s", x->self_device_us / 1e6);
		json_object_end(w);
	}
	json_array_end(w);
}

/* A column that the trace says nothing of is left out of all rows. */
static void row_json(
	const struct ops *ops, bool has_flops, const struct ops_row *r, struct json_writer *w)
{
	json_kv_string(w, "name", r->name);
	if (ops->has_shapes)
		json_kv_string(w, "shapes", r->shapes);
	if (ops->has_stack)
		json_kv_string(w, "stack", r->stack);
	if (ops->has_module && !ops->has_stack)
		json_kv_string(w, "module", r->module);
	if (ops->has_source && !ops->has_stack) {
		json_kv_string(w, "source", r->source);
		json_kv_double(w, "source_share", *r->source ? r->source_share : UNITS_UNKNOWN);
	}
	json_kv_double(w, "self_cpu_s", r->self_cpu_us / 1e6);
	json_kv_double(w, "self_cpu_share",
		ops->self_cpu_us > 0 ? r->self_cpu_us / ops->self_cpu_us : UNITS_UNKNOWN);
	json_kv_double(w, "cpu_s", r->cpu_us / 1e6);
	json_kv_u64(w, "calls", r->n_calls);
	json_kv_double(w, "median_s", r->median_us / 1e6);
	json_kv_double(w, "p99_s", r->p99_us / 1e6);
	json_kv_double(w, "max_s", r->max_us / 1e6);
	if (r->waited_us > 0)
		json_kv_double(w, "waited_s", r->waited_us / 1e6);
	if (ops->has_device_time) {
		json_kv_double(w, "self_device_s", r->self_device_us / 1e6);
		json_kv_double(w, "device_s", r->device_us / 1e6);
		json_kv_u64(w, "launches", r->n_launches);
	}
	if (ops->has_memory)
		json_kv_i64(w, "self_cpu_bytes", r->self_cpu_bytes);
	if (ops->has_memory && ops->has_device)
		json_kv_i64(w, "self_device_bytes", r->self_device_bytes);
	if (has_flops)
		json_kv_double(w, "flops", r->flops ? (double)r->flops : UNITS_UNKNOWN);
	if (ops->has_source || ops->has_module)
		places_json(ops, r, w);
}

void ops_json(const struct ops *ops, bool top_level, size_t limit, struct json_writer *w)
{
	bool has_flops = false;
	size_t n = 0;

	for (size_t i = 0; i < ops->n; i++)
		has_flops |= ops->v[i].flops > 0;
	json_key(w, "operators");
	json_array_begin(w);
	for (size_t i = 0; i < ops->n && n < limit; i++) {
		if (top_level && ops->v[i].is_nested)
			continue;
		n++;
		json_object_begin(w);
		row_json(ops, has_flops, &ops->v[i], w);
		json_object_end(w);
	}
	json_array_end(w);
}

static void neighbours_rows(const char *key, const struct op_neighbour *v, size_t n, size_t limit,
	struct json_writer *w)
{
	json_key(w, key);
	json_array_begin(w);
	for (size_t i = 0; i < n && i < limit; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", v[i].name);
		json_kv_u64(w, "calls", v[i].n_calls);
		json_kv_double(w, "cpu_s", v[i].cpu_us / 1e6);
		json_object_end(w);
	}
	json_array_end(w);
}

void op_neighbours_json(
	const struct op_neighbours *n, int which, size_t limit, struct json_writer *w)
{
	json_kv_string(w, "operator", n->name);
	json_kv_u64(w, "calls", n->n_calls);
	json_kv_double(w, "cpu_s", n->cpu_us / 1e6);
	json_kv_double(w, "self_cpu_s", n->self_cpu_us / 1e6);
	if (which & OP_NEIGHBOURS_CALLERS)
		neighbours_rows("callers", n->callers, n->n_callers, limit, w);
	if (which & OP_NEIGHBOURS_CALLEES)
		neighbours_rows("callees", n->callees, n->n_callees, limit, w);
}

void op_modules_json(const struct op_modules *modules, size_t limit, struct json_writer *w)
{
	json_key(w, "modules");
	json_array_begin(w);
	for (size_t i = 0; i < modules->n && i < limit; i++) {
		const struct op_module *m = &modules->v[i];

		json_object_begin(w);
		json_kv_string(w, "name", m->name);
		json_kv_string(w, "path", m->path);
		json_kv_u64(w, "depth", m->depth);
		json_kv_double(w, "share", m->share);
		json_kv_double(w, "calls", modules->has_calls ? (double)m->n_calls : NAN);
		json_kv_double(w, "total_s", m->seconds);
		json_kv_double(w, "self_s", m->self_s);
		json_kv_u64(w, "operators", m->n_operators);
		json_kv_double(w, "backward_s", modules->has_backward ? m->backward_s : NAN);
		json_kv_double(
			w, "self_backward_s", modules->has_backward ? m->self_backward_s : NAN);
		if (modules->has_memory) {
			json_kv_i64(w, "bytes", m->bytes);
			json_kv_i64(w, "self_bytes", m->self_bytes);
		}
		json_kv_double(w, "device_s", modules->has_device ? m->device_s : NAN);
		json_kv_double(w, "self_device_s", modules->has_device ? m->self_device_s : NAN);
		json_kv_double(w, "self_device_backward_s",
			modules->has_device ? m->self_device_backward_s : NAN);
		json_kv_u64(w, "launches", m->n_launches);
		json_object_end(w);
	}
	json_array_end(w);
}

static void side_json(const struct ops_diff_side *s, const char *key, struct json_writer *w)
{
	json_key(w, key);
	json_object_begin(w);
	json_kv_double(w, "calls", s->calls);
	json_kv_double(w, "self_cpu", s->self_cpu_s);
	json_kv_double(w, "self_device", s->self_device_s);
	json_object_end(w);
}

void ops_diff_json(const struct ops_diff *d, struct json_writer *w)
{
	static const char *const sides[] = { "a", "b" };

	json_kv_string(w, "normalize", ops_diff_scales[d->scale]);
	json_kv_string(
		w, "unit", unit_json_name(d->scale == OPS_DIFF_RUN ? UNIT_SHARE : UNIT_SECONDS));
	for (size_t k = 0; k < 2; k++) {
		json_key(w, sides[k]);
		json_object_begin(w);
		json_kv_string(w, "file", d->trace[k].path);
		if (*d->trace[k].missing)
			json_kv_string(w, "damage", d->trace[k].missing);
		json_kv_u64(w, "steps", d->trace[k].n_steps);
		json_kv_double(w, "step_s", d->trace[k].step_s);
		side_json(&d->trace[k].total, "total", w);
		json_object_end(w);
	}
	json_key(w, "operators");
	json_array_begin(w);
	for (size_t i = 0; i < d->n; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", d->v[i].name);
		json_kv_bool(w, "is_annotation", d->v[i].is_annotation);
		side_json(&d->v[i].side[0], "a", w);
		side_json(&d->v[i].side[1], "b", w);
		json_object_end(w);
	}
	json_array_end(w);
}
