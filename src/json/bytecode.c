/* SPDX-License-Identifier: MIT
 * See bytecode.h. */
#include "json/bytecode.h"

#include "analyze/calls/opcode_counts.h"
#include "analyze/code/disassembly.h"
#include "json/values.h"
#include "base/banned.h"

static void instruction_json(const struct disassembly_row *r, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_u64(w, "offset", r->offset);
	json_kv_string(w, "opname", r->name);
	known_i64_json("arg", r->has_arg, r->arg, w);
	json_kv_string(w, "argrepr", r->text);
	known_i64_json("line", r->line >= 0, r->line, w);
	known_i64_json("hits", r->has_executed, (int64_t)r->executed, w);
	known_i64_json("line_hits", r->is_counted, (int64_t)r->hits, w);
	json_kv_double(w, "line_s", r->is_counted ? r->line_s : UNITS_UNKNOWN);
	json_kv_bool(w, "is_jump_target", r->is_target);
	known_i64_json("target", r->target >= 0, r->target, w);
	json_kv_double(w, "self", r->self_s);
	json_kv_double(w, "total", r->total_s);
	text_json("specialised", r->form, w);
	text_json("folded", r->folded, w);
	json_key(w, "stack");
	if (r->stack) {
		json_array_begin(w);
		for (size_t i = 0; i < r->n_stack; i++)
			json_string(w, r->stack[i]);
		json_array_end(w);
	} else {
		json_null(w);
	}
	json_object_end(w);
}

void bytecode_json(const struct disassembly *d, size_t n, struct json_writer *w)
{
	json_key(w, "bytecode");
	json_array_begin(w);
	for (; n; n--, d++) {
		json_object_begin(w);
		json_kv_string(w, "function", d->name);
		json_kv_string(w, "file", d->file);
		json_kv_u64(w, "line", d->first_line);
		json_kv_string(w, "interpreter", d->interpreter);
		json_kv_double(w, "self", d->self_s);
		json_kv_double(w, "total", d->total_s);
		json_key(w, "instructions");
		json_array_begin(w);
		for (size_t i = 0; i < d->n; i++)
			instruction_json(&d->v[i], w);
		json_array_end(w);
		json_key(w, "exceptions");
		json_array_begin(w);
		for (size_t i = 0; i < d->n_handlers; i++) {
			json_object_begin(w);
			json_kv_u64(w, "start", d->handlers[i].start);
			json_kv_u64(w, "end", d->handlers[i].end);
			json_kv_u64(w, "target", d->handlers[i].target);
			json_kv_u64(w, "depth", d->handlers[i].depth);
			json_kv_bool(w, "lasti", d->handlers[i].has_lasti);
			json_object_end(w);
		}
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
}

void opcodes_json(const struct opcode_counts *c, struct json_writer *w)
{
	json_key(w, "opcodes");
	json_object_begin(w);
	json_kv_u64(w, "executed", c->executed);
	json_kv_string(w, "way",
		c->has_derived && c->has_each ? "mixed"
			: c->has_derived      ? "blocks"
					      : "each");
	json_key(w, "functions");
	json_array_begin(w);
	for (size_t i = 0; i < c->n_functions; i++) {
		const struct opcode_function *f = &c->functions[i];

		json_object_begin(w);
		json_kv_string(w, "name", f->name);
		json_kv_string(w, "file", f->file);
		json_kv_u64(w, "line", f->first_line);
		json_kv_u64(w, "executed", f->executed);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}
