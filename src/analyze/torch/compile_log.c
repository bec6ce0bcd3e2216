/* SPDX-License-Identifier: MIT
 * See compile_log.h. */
#include "analyze/torch/compile_log.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "base/banned.h"

enum { ROWS_MOST = 1000 };

/* One row of any of the lists. */
struct row {
	const char *id, *function, *file, *reason, *failed;
	uint64_t line, times;
};

struct told {
	struct arena *arena;
	struct json_reader json;
	VEC(struct op_compile_log_frame) frames;
	VEC(struct op_compile_log_break) breaks, explained;
};

static void take(struct told *t, struct row *to, const char *key, enum json_token token)
{
	const struct {
		const char *key, **text;
		uint64_t *number;
	} fields[] = { { "id", &to->id, NULL }, { "function", &to->function, NULL },
		{ "file", &to->file, NULL }, { "reason", &to->reason, NULL },
		{ "failed", &to->failed, NULL }, { "line", NULL, &to->line },
		{ "times", NULL, &to->times } };

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (strcmp(fields[i].key, key) != 0)
			continue;
		if (fields[i].text && token == JSON_STRING)
			*fields[i].text = arena_strndup(t->arena, t->json.text, t->json.n);
		else if (fields[i].number && token == JSON_NUMBER)
			json_number_u64(&t->json, fields[i].number);
	}
}

static int read_row(struct told *t, struct row *ret, struct err *e)
{
	enum json_token token;
	char key[16] = "";
	int status;

	*ret = (struct row){ "", "", "", "", "", 0, 0 };
	while ((status = json_next(&t->json, &token, e)) == 0 && token != JSON_OBJECT_END) {
		if (token == JSON_KEY)
			json_copy_text(&t->json, key, sizeof key);
		else if (token == JSON_OBJECT_BEGIN || token == JSON_ARRAY_BEGIN)
			status = json_skip(&t->json, e);
		else
			take(t, ret, key, token);
		if (status != 0)
			break;
	}
	return status;
}

static void add(struct told *t, const char *list, const struct row *r)
{
	struct op_compile_log_break b = { .reason = r->reason,
		.function = r->function,
		.file = r->file,
		.line = r->line,
		.n_times = r->times };

	if (strcmp(list, "compilations") == 0 && *r->id)
		vec_push(&t->frames,
			(struct op_compile_log_frame){ .id = r->id,
				.function = r->function,
				.file = r->file,
				.reason = *r->failed ? r->failed : r->reason,
				.line = r->line });
	else if (strcmp(list, "breaks") == 0 && *r->reason)
		vec_push(&t->breaks, b);
	else if (strcmp(list, "explained") == 0 && *r->reason)
		vec_push(&t->explained, b);
}

static void read_lists(struct told *t)
{
	struct err e = ERR_INIT;
	enum json_token token;
	char list[16] = "";
	size_t n = 0;

	if (json_next(&t->json, &token, &e) != 0 || token != JSON_OBJECT_BEGIN)
		return;
	while (n < ROWS_MOST && json_next(&t->json, &token, &e) == 0 && token != JSON_END) {
		struct row r;

		if (token == JSON_KEY)
			json_copy_text(&t->json, list, sizeof list);
		if (token != JSON_OBJECT_BEGIN)
			continue;
		if (read_row(t, &r, &e) != 0)
			return;
		add(t, list, &r);
		n++;
	}
}

const struct op_compile_log *op_compile_log_read(struct arena *a, const struct buf *json)
{
	struct told t = { .arena = a };
	struct op_compile_log *to = arena_new(a, struct op_compile_log);

	if (!json->n)
		return to;
	json_reader_init_memory(&t.json, json->data, json->n);
	read_lists(&t);
	json_reader_done(&t.json);
	to->frames = arena_copy(a, t.frames.v, t.frames.n * sizeof *t.frames.v);
	to->n_frames = t.frames.n;
	to->breaks = arena_copy(a, t.breaks.v, t.breaks.n * sizeof *t.breaks.v);
	to->n_breaks = t.breaks.n;
	to->explained = arena_copy(a, t.explained.v, t.explained.n * sizeof *t.explained.v);
	to->n_explained = t.explained.n;
	vec_done(&t.frames);
	vec_done(&t.breaks);
	vec_done(&t.explained);
	return to;
}
