/* SPDX-License-Identifier: MIT
 * See values.h. */
#include "json/values.h"

#include <math.h>

#include "base/buf.h"
#include "base/banned.h"

void json_page_begin(struct json_writer *w, struct buf *out)
{
	json_init_shown(w, out, true);
	json_object_begin(w);
}

void json_page_end(struct json_writer *w)
{
	json_object_end(w);
	buf_addc(w->out, '\n');
}

const char *unit_json_name(enum unit unit)
{
	return unit == UNIT_SECONDS  ? "s"
		: unit == UNIT_BYTES ? "bytes"
		: unit == UNIT_SHARE ? "share"
				     : "count";
}

void total_json(enum unit unit, double total, struct json_writer *w)
{
	json_kv_string(w, "unit", unit_json_name(unit));
	json_kv_double(w, "total", total);
}

void short_json(double value, struct json_writer *w)
{
	json_double(w, round(value * 1e9) / 1e9);
}

void known_i64_json(const char *key, bool is_known, int64_t value, struct json_writer *w)
{
	json_key(w, key);
	if (is_known)
		json_i64(w, value);
	else
		json_null(w);
}

void text_json(const char *key, const char *text, struct json_writer *w)
{
	json_kv_string(w, key, *text ? text : NULL);
}
