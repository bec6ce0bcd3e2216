/* SPDX-License-Identifier: MIT
 * See finding.h. */
#include "json/finding.h"

#include "advise/finding.h"
#include "json/values.h"
#include "base/banned.h"

static void saving_json(const struct finding_saving *s, struct json_writer *w)
{
	json_key(w, "saving");
	if (!units_is_known(s->value)) {
		json_string(w, NULL);
		return;
	}
	json_object_begin(w);
	json_kv_double(w, "value", s->value);
	json_kv_double(w, "estimate", s->estimate);
	json_kv_string(w, "unit", unit_json_name(s->unit));
	json_kv_string(w, "of", s->of);
	json_kv_double(w, "whole", s->whole);
	json_object_end(w);
}

void finding_json(const struct finding *f, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_string(w, "rule", f->rule);
	json_kv_string(w, "title", f->title);
	json_kv_string(w, "file", f->file);
	json_kv_double(w, "line", f->line ? (double)f->line : UNITS_UNKNOWN);
	json_kv_string(w, "evidence", f->evidence);
	json_kv_string(w, "change", f->change);
	saving_json(&f->saving, w);
	json_kv_string(w, "saving_unknown", f->saving.unknown);
	json_kv_string(w, "confidence", finding_confidence_names[f->confidence]);
	json_key(w, "proof");
	json_object_begin(w);
	json_kv_string(w, "shows", f->proof.shows);
	json_kv_string(w, "proves", f->proof.proves);
	json_object_end(w);
	json_object_end(w);
}
