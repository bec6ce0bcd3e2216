/* SPDX-License-Identifier: MIT
 * See doctor.h. */
#include "json/doctor.h"

#include "analyze/host/doctor.h"
#include "base/json_write.h"
#include "base/banned.h"

static const char *const answers[] = {
	[DOCTOR_YES] = "yes",
	[DOCTOR_PARTLY] = "partly",
	[DOCTOR_NO] = "no",
};

static void put_answer(
	struct json_writer *w, enum doctor_answer answer, const char *reason, const char *remedy)
{
	json_kv_string(w, "answer", answers[answer]);
	json_kv_string(w, "reason", reason);
	json_kv_string(w, "remedy", remedy);
}

static void put_interpreter(struct json_writer *w, const struct doctor_interpreter *i)
{
	bool is_known = *i->version;

	json_object_begin(w);
	json_kv_string(w, "path", i->path);
	json_kv_string(w, "version", is_known ? i->version : NULL);
	json_kv_string(w, "implementation", is_known ? i->implementation : NULL);
	json_key(w, "free_threaded");
	if (is_known)
		json_bool(w, i->is_free_threaded);
	else
		json_null(w);
	json_kv_bool(w, "supported", i->is_supported);
	json_kv_string(w, "reason", i->reason);
	json_kv_string(w, "chosen_by", i->chosen_by);
	json_kv_bool(w, "agent", i->has_agent);
	json_kv_string(w, "no_agent", i->no_agent);
	json_kv_string(w, "torch", *i->torch ? i->torch : NULL);
	json_kv_string(w, "remedy", i->remedy);
	json_object_end(w);
}

void doctor_json(const struct doctor *d, struct json_writer *w)
{
	json_kv_bool(w, "ok", d->is_ok);
	json_kv_string(w, "verdict", d->verdict);
	json_kv_string(w, "remedy", d->remedy);
	json_key(w, "checks");
	json_array_begin(w);
	for (size_t i = 0; i < d->n_checks; i++) {
		json_object_begin(w);
		json_kv_string(w, "id", d->checks[i].id);
		json_kv_string(w, "title", d->checks[i].title);
		json_kv_string(w, "needed_for", d->checks[i].needed_for);
		put_answer(w, d->checks[i].answer, d->checks[i].reason, d->checks[i].remedy);
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "interpreters");
	json_array_begin(w);
	for (size_t i = 0; i < d->n_interpreters; i++)
		put_interpreter(w, &d->interpreters[i]);
	json_array_end(w);
	json_key(w, "collectors");
	json_array_begin(w);
	for (size_t i = 0; i < d->n_collectors; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", d->collectors[i].name);
		json_kv_string(w, "sees", d->collectors[i].sees);
		put_answer(w, d->collectors[i].answer, d->collectors[i].reason,
			d->collectors[i].remedy);
		json_object_end(w);
	}
	json_array_end(w);
}
