/* SPDX-License-Identifier: MIT
 * See arguments.h. */
#include "json/arguments.h"

#include "analyze/calls/arguments.h"
#include "analyze/samples/probes.h"
#include "base/json_write.h"
#include "base/banned.h"

static void size_json(struct json_writer *w, const char *key, uint64_t size)
{
	json_key(w, key);
	if (size == UINT64_MAX)
		json_null(w);
	else
		json_u64(w, size);
}

static void operand_json(const struct probe_operand *o, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_u64(w, "operand", o->operand);
	json_kv_string(w, "type", o->type);
	json_kv_string(w, "name", *o->name ? o->name : NULL);
	json_kv_u64(w, "count", o->n);
	size_json(w, "size_min", o->size_min);
	size_json(w, "size_max", o->size_max);
	json_object_end(w);
}

void probes_json(const struct probes *p, struct json_writer *w)
{
	json_key(w, "probes");
	json_array_begin(w);
	for (size_t i = 0; i < p->n; i++) {
		const struct probe_site *s = &p->v[i];

		json_object_begin(w);
		json_kv_string(w, "file", s->file);
		json_kv_i64(w, "line", s->line);
		json_kv_string(w, "function", s->function);
		json_kv_u64(w, "offset", s->offset);
		json_kv_string(w, "instruction", *s->instruction ? s->instruction : NULL);
		json_kv_string(w, "operation", *s->operation ? s->operation : NULL);
		json_kv_u64(w, "count", s->n);
		json_kv_double(w, "self_s", s->self_s);
		json_key(w, "operands");
		json_array_begin(w);
		for (size_t k = 0; k < s->n_operands; k++)
			operand_json(&s->operands[k], w);
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
}

void arguments_json(const struct arguments *a, struct json_writer *w)
{
	json_key(w, "arguments");
	json_array_begin(w);
	for (size_t i = 0; i < a->n; i++) {
		const struct argument_row *r = &a->v[i];

		json_object_begin(w);
		json_kv_string(w, "name", r->name);
		json_kv_string(w, "file", r->file);
		json_kv_u64(w, "line", r->first_line);
		json_kv_u64(w, "calls", r->calls);
		json_kv_u64(w, "probed", r->probed);
		json_kv_u64(w, "opaque", r->opaque);
		json_kv_double(w, "distinct", r->distinct);
		json_kv_double(w, "distinct_low", r->distinct_low);
		json_kv_double(w, "distinct_high", r->distinct_high);
		json_kv_double(w, "repeated_share", r->repeated);
		json_kv_double(w, "repeated_low_share", r->repeated_low);
		json_kv_double(w, "repeated_high_share", r->repeated_high);
		json_kv_double(w, "repeated_s", r->repeated_s);
		json_kv_string(w, "most_often", r->shape);
		json_kv_u64(w, "most_often_calls", r->shape_calls);
		json_kv_u64(w, "most_often_over", r->shape_over);
		json_object_end(w);
	}
	json_array_end(w);
}
