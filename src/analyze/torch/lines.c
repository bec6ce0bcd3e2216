/* SPDX-License-Identifier: MIT
 * See lines.h. */
#include "analyze/torch/lines.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/map.h"
#include "base/banned.h"

enum { SEVERAL = 0 }; /* events begin at that moment: index + 1 otherwise */

struct taking {
	struct op_events *x;
	struct json_reader json;
	struct err e;
	int64_t base_ns;
	VEC(uint32_t) places; /* names + 1 */
	/* begin → event + 1, SEVERAL; Python functions; operators and regions that no other begins with */
	struct map python, spans;
};

static void put(struct map *m, int64_t t_ns, size_t event)
{
	uint64_t other;

	map_put(m, (uint64_t)t_ns, map_find(m, (uint64_t)t_ns, &other) ? SEVERAL : event + 1);
}

static void find_begins(struct taking *t)
{
	for (size_t i = 0; i < t->x->v.n; i++) {
		const struct op_event *e = &t->x->v.v[i];

		if (e->category == OP_PYTHON)
			put(&t->python, e->start_ns, i);
		else if (e->category <= OP_ANNOTATION)
			put(&t->spans, e->start_ns, i);
	}
}

static bool next(struct taking *t, enum json_token *token)
{
	return json_next(&t->json, token, &t->e) == 0 && *token != JSON_END;
}

/* The next item of a list; false at its end. */
static bool next_item(struct taking *t, enum json_token *token)
{
	while (next(t, token) && *token != JSON_ARRAY_END) {
		if (*token != JSON_ARRAY_BEGIN && *token != JSON_OBJECT_BEGIN)
			return true;
		if (json_skip(&t->json, &t->e) != 0)
			return false;
	}
	return false;
}

static uint32_t take_text(struct taking *t)
{
	return intern_add(&t->x->names, t->json.text, t->json.n, NULL);
}

static void take_places(struct taking *t)
{
	for (enum json_token token; next_item(t, &token);)
		vec_push(&t->places, token == JSON_STRING ? take_text(t) + 1 : 0);
}

static void set_source(struct op_events *x, size_t event, uint32_t source)
{
	while (x->sources.n <= event)
		vec_push(&x->sources, 0);
	x->sources.v[event] = source;
}

/* Pairs of a moment and what begins then: a place, or a name. */
static void take_pairs(struct taking *t, const struct map *begins, bool is_names)
{
	uint64_t at_ns = 0, step, place, event;

	for (enum json_token token; next_item(t, &token);) {
		if (token != JSON_NUMBER || !json_number_u64(&t->json, &step))
			return;
		at_ns = step <= INT64_MAX - at_ns ? at_ns + step : INT64_MAX;
		if (!next_item(t, &token) || token != (is_names ? JSON_STRING : JSON_NUMBER))
			return;
		if (!map_find(begins, at_ns - (uint64_t)t->base_ns, &event) || event == SEVERAL)
			continue;
		if (is_names)
			t->x->v.v[event - 1].name = take_text(t);
		else if (json_number_u64(&t->json, &place) && place < t->places.n)
			set_source(t->x, event - 1, t->places.v[place]);
	}
}

/* "Linear_0": where it is. */
static void take_modules(struct taking *t)
{
	struct buf name = BUF_INIT;

	for (enum json_token token; next(t, &token) && token != JSON_OBJECT_END;) {
		if (token == JSON_KEY) {
			buf_clear(&name);
			buf_adds(&name, "nn.Module: ");
			buf_add(&name, t->json.text, t->json.n);
		} else if (token == JSON_STRING) {
			uint32_t of = intern_add(&t->x->names, name.data, name.n, NULL);

			map_put(&t->x->module_paths, of, take_text(t));
		} else {
			break;
		}
	}
	buf_done(&name);
}

static void take_list(struct taking *t, const char *key)
{
	if (strcmp(key, "places") == 0)
		take_places(t);
	else if (strcmp(key, "calls") == 0)
		take_pairs(t, &t->python, false);
	else if (strcmp(key, "ops") == 0)
		take_pairs(t, &t->spans, false);
	else if (strcmp(key, "names") == 0)
		take_pairs(t, &t->spans, true);
	else
		json_skip(&t->json, &t->e);
}

void op_lines_take(struct op_events *x, const void *json, size_t n, int64_t base_ns)
{
	struct taking t = { .x = x, .base_ns = base_ns, .e = ERR_INIT };
	enum json_token token;
	char key[16] = "";

	json_reader_init_memory(&t.json, json, n);
	find_begins(&t);
	if (next(&t, &token) && token == JSON_OBJECT_BEGIN)
		while (next(&t, &token) && token != JSON_OBJECT_END) {
			if (token == JSON_KEY)
				json_copy_text(&t.json, key, sizeof key);
			else if (token == JSON_ARRAY_BEGIN)
				take_list(&t, key);
			else if (token == JSON_OBJECT_BEGIN && strcmp(key, "modules") == 0)
				take_modules(&t);
			else if (token == JSON_OBJECT_BEGIN && json_skip(&t.json, &t.e) != 0)
				break;
		}
	json_reader_done(&t.json);
	map_done(&t.python);
	map_done(&t.spans);
	vec_done(&t.places);
}
