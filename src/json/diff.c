/* SPDX-License-Identifier: MIT
 * See diff.h. */
#include "json/diff.h"

#include "analyze/diff/diff.h"
#include "base/buf.h"
#include "json/values.h"
#include "base/banned.h"

static void value_json(const char *key, const struct diff_value *v, struct json_writer *w)
{
	json_key(w, key);
	json_object_begin(w);
	json_kv_double(w, "a", v->a);
	json_kv_double(w, "b", v->b);
	json_kv_double(w, "change", v->change);
	json_kv_double(w, "low", v->change - v->plus_minus);
	json_kv_double(w, "high", v->change + v->plus_minus);
	json_kv_bool(w, "is_named", v->is_named);
	json_object_end(w);
}

static void table_json(const char *key, const char *name, const struct diff_table *t, bool is_paths,
	struct json_writer *w)
{
	json_key(w, key);
	json_array_begin(w);
	for (size_t i = 0; i < t->n; i++) {
		const struct diff_row *r = t->v[i];
		struct buf path = BUF_INIT;

		json_object_begin(w);
		json_kv_string(w, name, r->name);
		json_kv_string(w, "file", r->file);
		json_kv_u64(w, "line", r->line);
		if (*r->text)
			json_kv_string(w, "text", r->text);
		if (is_paths)
			diff_add_path(&path, r);
		if (is_paths)
			json_kv_string(w, "path", buf_str(&path));
		if (r->calls_a > 0 || r->calls_b > 0) {
			json_kv_double(w, "calls_a", r->calls_a);
			json_kv_double(w, "calls_b", r->calls_b);
		}
		value_json("self", &r->self, w);
		value_json("total", &r->total, w);
		json_object_end(w);
		buf_done(&path);
	}
	json_array_end(w);
}

static void side_json(const char *key, const struct diff_name *n, struct json_writer *w)
{
	json_key(w, key);
	json_object_begin(w);
	json_kv_string(w, "file", n->file);
	json_kv_string(w, "command", n->command);
	json_kv_string(w, "made", n->made);
	if (*n->damage)
		json_kv_string(w, "damage", n->damage);
	json_kv_double(w, "wall_s", n->wall_s);
	json_object_end(w);
}

void diff_json(const struct diff *d, const struct diff_name *sides, double noise, bool with_paths,
	struct json_writer *w)
{
	side_json("a", &sides[0], w);
	side_json("b", &sides[1], w);
	json_kv_string(w, "unit", unit_json_name(d->unit));
	json_kv_double(w, "noise_share", noise);
	value_json("total", &d->total, w);
	table_json("functions", "name", &d->functions, false, w);
	table_json("lines", "function", &d->lines, false, w);
	if (with_paths)
		table_json("paths", "name", &d->paths, true, w);
}
