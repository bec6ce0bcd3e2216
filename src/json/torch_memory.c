/* SPDX-License-Identifier: MIT
 * See torch.h. */
#include "json/torch.h"

#include "analyze/torch/allocations.h"
#include "analyze/torch/unreleased.h"
#include "base/json_write.h"
#include "base/units.h"
#include "base/banned.h"

static void curve_json(const char *key, const double *curve, struct json_writer *w)
{
	json_key(w, key);
	json_array_begin(w);
	for (size_t i = 0; i < OP_CURVE; i++)
		json_u64(w, (uint64_t)curve[i]);
	json_array_end(w);
}

static void device_json(const struct op_allocator *d, bool has_held, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_string(w, "device", d->name);
	json_kv_u64(w, "allocations", d->n_allocations);
	json_kv_u64(w, "releases", d->n_releases);
	json_kv_u64(w, "failures", d->n_failures);
	json_kv_u64(w, "allocated_bytes", d->allocated_bytes);
	json_kv_u64(w, "released_bytes", d->released_bytes);
	json_kv_u64(w, "first_bytes", d->first_bytes);
	json_kv_u64(w, "last_bytes", d->last_bytes);
	json_kv_u64(w, "peak_bytes", d->peak_bytes);
	json_kv_double(w, "peak_s", d->peak_s);
	json_kv_string(w, "peak_operator", *d->peak_operator ? d->peak_operator : NULL);
	json_kv_string(w, "peak_step", *d->peak_step ? d->peak_step : NULL);
	json_kv_double(w, "peak_reserved_bytes",
		d->peak_reserved_bytes ? (double)d->peak_reserved_bytes : UNITS_UNKNOWN);
	if (has_held) {
		json_key(w, "at_peak_bytes_estimated");
		json_object_begin(w);
		for (unsigned i = 0; i < OP_N_HELD; i++)
			json_kv_u64(w, op_held_names[i], d->at_peak_bytes[i]);
		json_object_end(w);
	}
	curve_json("curve_bytes", d->curve, w);
	if (d->peak_reserved_bytes)
		curve_json("reserved_bytes", d->reserved, w);
	json_object_end(w);
}

static void operators_json(const struct op_allocations *x, size_t limit, struct json_writer *w)
{
	json_key(w, "operators");
	json_array_begin(w);
	for (size_t i = 0; i < x->n_operators && i < limit; i++) {
		const struct op_allocating *r = &x->operators[i];

		json_object_begin(w);
		json_kv_string(w, "name", r->name);
		json_kv_u64(w, "allocations", r->n_allocations);
		json_kv_u64(w, "allocated_bytes", r->allocated_bytes);
		json_kv_u64(w, "releases", r->n_releases);
		json_kv_u64(w, "released_bytes", r->released_bytes);
		json_object_end(w);
	}
	json_array_end(w);
}

static void largest_json(const struct op_allocations *x, size_t limit, struct json_writer *w)
{
	json_key(w, "largest");
	json_array_begin(w);
	for (size_t i = 0; i < x->n_largest && i < limit; i++) {
		const struct op_allocation *r = &x->largest[i];

		json_object_begin(w);
		json_kv_string(w, "device", r->device);
		json_kv_string(w, "operator", *r->operator_name ? r->operator_name : NULL);
		json_kv_u64(w, "bytes", r->bytes);
		json_kv_double(w, "at_s", r->at_s);
		json_kv_double(w, "lived_s", r->lived_s);
		if (x->has_held)
			json_kv_string(w, "estimated_use", op_held_names[r->held]);
		json_object_end(w);
	}
	json_array_end(w);
}

void op_allocations_json(const struct op_allocations *x, size_t limit, struct json_writer *w)
{
	json_key(w, "memory");
	json_object_begin(w);
	json_kv_double(w, "duration_s", x->seconds);
	json_key(w, "devices");
	json_array_begin(w);
	for (size_t i = 0; i < x->n_devices; i++)
		device_json(&x->devices[i], x->has_held, w);
	json_array_end(w);
	operators_json(x, limit, w);
	largest_json(x, limit, w);
	json_object_end(w);
}

void op_unreleased_json(const struct op_unreleased *x, size_t limit, struct json_writer *w)
{
	json_key(w, "unreleased");
	if (!x) {
		json_null(w);
		return;
	}
	json_object_begin(w);
	json_kv_u64(w, "allocations", x->n_allocations);
	json_kv_u64(w, "bytes", x->bytes);
	json_key(w, "operators");
	json_array_begin(w);
	for (size_t i = 0; i < x->n && i < limit; i++) {
		const struct op_unreleased_row *r = &x->v[i];

		json_object_begin(w);
		json_kv_string(w, "name", *r->operator_name ? r->operator_name : NULL);
		json_kv_string(w, "device", r->device);
		json_kv_u64(w, "allocations", r->n_allocations);
		json_kv_u64(w, "bytes", r->bytes);
		json_kv_u64(w, "steps", r->n_steps);
		json_kv_double(w, "first_s", r->first_s);
		json_kv_double(w, "last_s", r->last_s);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}
