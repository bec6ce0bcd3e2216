/* SPDX-License-Identifier: MIT
 * See probes.h. */
#include "view/probes.h"

#include <stdint.h>
#include <string.h>

#include "analyze/probes.h"
#include "base/buf.h"
#include "base/json_write.h"
#include "base/text.h"
#include "base/units.h"
#include "base/banned.h"

/* Below these nothing is said: of a line's own time; of the probes that saw the same. */
static const double LINE_SHARE = 0.25, SAME_SHARE = 0.6;

bool probes_add_line(
	const struct probes *p, const char *file, int line, double line_self_s, struct buf *out)
{
	const struct probe_site *s = p ? probes_line(p, file, line) : NULL;
	char share[UNITS_TEXT];
	double of_line;

	if (!s || !*s->operation || s->share < SAME_SHARE || line_self_s <= 0)
		return false;
	of_line = s->self_s / line_self_s;
	if (of_line < LINE_SHARE)
		return false;
	if (strncmp(s->operation, "in ", 3) != 0)
		buf_adds(out, "in ");
	text_add_printable(out, s->operation, strlen(s->operation));
	buf_printf(out, " %s", units_format(share, UNIT_SHARE, of_line > 1 ? 1 : of_line));
	return true;
}

static void json_size(struct json_writer *w, const char *key, uint64_t size)
{
	json_key(w, key);
	if (size == UINT64_MAX)
		json_null(w);
	else
		json_u64(w, size);
}

static void json_operand(const struct probe_operand *o, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_u64(w, "operand", o->operand);
	json_kv_string(w, "type", o->type);
	json_kv_string(w, "name", *o->name ? o->name : NULL);
	json_kv_u64(w, "count", o->n);
	json_size(w, "size_min", o->size_min);
	json_size(w, "size_max", o->size_max);
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
			json_operand(&s->operands[k], w);
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
}
