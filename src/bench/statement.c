/* SPDX-License-Identifier: MIT
 * See statement.h. The worker runs the user's code, so what it says is foreign text: read strictly, and bounded. */
#include "bench/statement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/vec.h"
#include "bench/random_layout.h"
#include "bench/worker.h"
#include "base/banned.h"

enum { VALUES_MOST = 1 << 20 };

struct answers {
	struct series_process *process;
	struct statement_notes *notes;
	VEC(struct series_value) values;
	char failed[128];
};

static void write_job(const struct statement *s, const struct statement_plan *plan, struct buf *job)
{
	struct json_writer w;

	json_init(&w, job, false);
	json_object_begin(&w);
	json_kv_string(&w, "stmt", s->stmt ? s->stmt : "");
	json_kv_string(&w, "setup", s->setup ? s->setup : "");
	json_kv_string(&w, "function", s->function ? s->function : "");
	json_kv_string(&w, "arguments", s->arguments ? s->arguments : "");
	json_kv_bool(&w, "gc", s->gc);
	json_kv_bool(&w, "process_time", s->process_time);
	json_kv_bool(&w, "sync_torch", s->sync_torch);
	json_kv_bool(&w, "exact", s->exact);
	json_kv_u64(&w, "threads", s->threads);
	json_kv_bool(&w, "wants_result", s->wants_result);
	json_kv_u64(&w, "loops", plan->loops);
	json_kv_u64(&w, "batches", plan->batches);
	json_kv_u64(&w, "least_batches", plan->least_batches);
	json_kv_double(&w, "batch_s", plan->batch_s);
	json_kv_double(&w, "budget_s", plan->budget_s);
	json_object_end(&w);
}

static void take_text(const struct json_reader *r, char *to, size_t size)
{
	snprintf(to, size, "%.*s", (int)(r->n < size ? r->n : size - 1), r->text);
}

/* [seconds, preempted, minor faults, major faults, user, system] */
static void take_batch(struct answers *a, struct json_reader *r)
{
	double n[6] = { 0 };
	size_t i = 0;
	enum json_token t;
	struct err e;

	while (json_next(r, &t, &e) == 0 && (t == JSON_NUMBER || t == JSON_ARRAY_BEGIN))
		if (t == JSON_NUMBER && i < 6)
			n[i++] = json_number_double(r);
	if (i == 6 && n[0] >= 0 && isfinite(n[0]) && a->values.n < VALUES_MOST)
		vec_push(&a->values,
			(struct series_value){ .seconds = n[0],
				.n_preempted = (uint32_t)fmax(0, n[1]),
				.n_minor_faults = (uint32_t)fmax(0, n[2]),
				.n_major_faults = (uint32_t)fmax(0, n[3]),
				.user_s = n[4],
				.system_s = n[5] });
}

static void take_rebinds(struct answers *a, struct json_reader *r)
{
	char *to = a->notes->rebinds;
	size_t size = sizeof a->notes->rebinds;
	enum json_token t;
	struct err e;

	to[0] = '\0';
	while (json_next(r, &t, &e) == 0 && (t == JSON_STRING || t == JSON_ARRAY_BEGIN))
		if (t == JSON_STRING && strlen(to) + r->n + 3 < size)
			snprintf(to + strlen(to), size - strlen(to), "%s%.*s", *to ? ", " : "",
				(int)r->n, r->text);
}

static void take_value(struct answers *a, struct json_reader *r, const char *key)
{
	enum json_token t;
	struct err e;
	uint64_t n;

	if (strcmp(key, "batch") == 0) {
		take_batch(a, r);
		return;
	}
	if (strcmp(key, "rebinds") == 0) {
		take_rebinds(a, r);
		return;
	}
	if (json_next(r, &t, &e) < 0)
		return;
	if (t == JSON_NUMBER && strcmp(key, "first") == 0)
		a->process->first_s = json_number_double(r);
	else if (t == JSON_NUMBER && strcmp(key, "loops") == 0 && json_number_u64(r, &n) && n) {
		a->process->loops = n;
		a->values.n = 0; /* batches of fewer loops were warm-up */
	} else if (t == JSON_NUMBER && strcmp(key, "max_rss_bytes") == 0 && json_number_u64(r, &n))
		a->process->max_rss_bytes = n;
	else if ((t == JSON_TRUE || t == JSON_FALSE) && strcmp(key, "gil") == 0)
		a->notes->has_gil = t == JSON_TRUE;
	else if (t == JSON_STRING && strcmp(key, "python") == 0)
		take_text(r, a->notes->python, sizeof a->notes->python);
	else if (t == JSON_STRING && strcmp(key, "kind") == 0)
		take_text(r, a->notes->kind, sizeof a->notes->kind);
	else if (t == JSON_STRING && strcmp(key, "result") == 0)
		take_text(r, a->notes->result, sizeof a->notes->result);
	else if (t == JSON_STRING && strcmp(key, "drift") == 0)
		take_text(r, a->notes->drift, sizeof a->notes->drift);
	else if (t == JSON_STRING && strcmp(key, "failed") == 0)
		take_text(r, a->failed, sizeof a->failed);
}

static void on_line(void *ctx, const char *text, size_t n)
{
	struct json_reader r;
	enum json_token t;
	struct err e;
	char key[32];

	json_reader_init_memory(&r, text, n);
	while (json_next(&r, &t, &e) == 0 && t != JSON_END)
		if (t == JSON_KEY) {
			take_text(&r, key, sizeof key);
			take_value(ctx, &r, key);
		}
	json_reader_done(&r);
}

/* The interpreter with the worker, behind the words that stand before it. */
static const char *const *words_of(const struct statement *s, struct arena *a)
{
	const char **words;
	size_t n = 0;

	while (s->before && s->before[n])
		n++;
	words = arena_new_n(a, const char *, n + 4);
	for (size_t i = 0; i < n; i++)
		words[i] = s->before[i];
	words[n] = s->python;
	words[n + 1] = "-c";
	words[n + 2] = arena_strndup(a, (const char *)bench_worker, n_bench_worker);
	words[n + 3] = NULL;
	return words;
}

int statement_measure(const struct statement *s, const struct statement_plan *plan, uint64_t seed,
	struct arena *a, struct series_process *ret, struct statement_notes *notes, struct err *e)
{
	struct random_layout layout = random_layout_of(seed);
	struct child_options o = { .argv = words_of(s, a),
		.environment = layout.environment,
		.in = CHILD_NULL,
		.out = s->out,
		.cpu = s->cpu };
	struct answers answers = { .process = ret, .notes = notes };
	struct child_result child;
	struct buf job = BUF_INIT;
	int status;

	*ret = (struct series_process){ .first_s = NAN, .loops = 1 };
	write_job(s, plan, &job);
	status = child_talk(&o, &job, on_line, &answers, &child, e);
	buf_done(&job);
	random_layout_done(&layout);
	ret->exit_status = status < 0 ? 0 : child.status;
	ret->n = answers.values.n;
	ret->v = arena_copy(a, answers.values.v, answers.values.n * sizeof *answers.values.v);
	vec_done(&answers.values);
	if (status < 0)
		return status;
	if (child_was_interrupted())
		return err_set(e, ERR_MEASURED, "interrupted");
	if (answers.failed[0])
		return err_set(e, ERR_MEASURED, "%s; see above", answers.failed);
	if (child.status != 0 || ret->n == 0)
		return err_set(e, ERR_MEASURED,
			"the interpreter exited with status %d before it was done", child.status);
	return 0;
}
