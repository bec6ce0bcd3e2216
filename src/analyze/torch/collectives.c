/* SPDX-License-Identifier: MIT
 * See collectives.h. */
#include "analyze/torch/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/event_json.h"
#include "analyze/torch/events.h"
#include "analyze/torch/steps.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/banned.h"

static const char *const backends[] = { "gloo:", "nccl:", "mpi:", "ucc:", "xccl:", "hccl:" };

/* What stands behind "backend:" in the name of a mark; NULL: it is none. */
static const char *marked(const char *name)
{
	for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
		if (strncmp(name, backends[i], strlen(backends[i])) == 0)
			return name + strlen(backends[i]);
	return NULL;
}

bool op_collectives_is_one(const struct op_events *x, const struct op_event *e, bool on_device)
{
	const char *name = op_events_name(x, e->name);

	if (on_device)
		return e->category == OP_KERNEL && op_is_communication(name);
	return e->category <= OP_ANNOTATION &&
		marked(name); /* our own collector has it as an operator */
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Of an event as op_event_json_print writes it: what stands behind the key; NULL: it is not there. */
static const char *argument(const char *event, const char *key)
{
	const char *args = strstr(event, "\"args\":{"), *at = args ? strstr(args, key) : NULL;

	return at ? at + strlen(key) : NULL;
}

static const char *text_argument(struct arena *a, const char *event, const char *key)
{
	const char *at = argument(event, key), *end;

	if (!at || *at != '"')
		return "";
	end = strchr(at + 1, '"');
	return end ? arena_strndup(a, at + 1, (size_t)(end - at - 1)) : "";
}

static int64_t number_argument(const char *event, const char *key)
{
	const char *at = argument(event, key);
	long long value = at && *at >= '0' && *at <= '9' ? strtoll(at, NULL, 10) : -1;

	return value < INT64_MAX ? value : -1;
}

/* Bytes of an element; torch has three names for most types. */
static uint64_t bytes_of_type(const char *type, size_t n)
{
	static const struct {
		const char *word;
		uint64_t bytes;
	} rows[] = { { "float", 4 }, { "Float", 4 }, { "Half", 2 }, { "c10::Half", 2 },
		{ "BFloat16", 2 }, { "c10::BFloat16", 2 }, { "double", 8 }, { "Double", 8 },
		{ "long int", 8 }, { "Long", 8 }, { "int", 4 }, { "Int", 4 }, { "short int", 2 },
		{ "Short", 2 }, { "unsigned char", 1 }, { "Byte", 1 }, { "signed char", 1 },
		{ "Char", 1 }, { "bool", 1 }, { "Bool", 1 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strlen(rows[i].word) == n && memcmp(rows[i].word, type, n) == 0)
			return rows[i].bytes;
	return 0;
}

/* "[4810,2]": moves on behind it. A list in it, or anything else, is nothing. */
static uint64_t elements(const char **at)
{
	uint64_t n = 1;
	bool is_plain = true;

	for ((*at)++; **at && **at != ']'; (*at)++) {
		char *end;
		uint64_t x;

		is_plain &= **at != '[';
		if (**at < '0' || **at > '9')
			continue;
		x = strtoull(*at, &end, 10);
		n = x && n > (UINT64_C(1) << 50) / x ? UINT64_C(1) << 50 : n * x;
		*at = end - 1;
	}
	*at += **at == ']';
	return is_plain ? n : 0;
}

/* Of "Input Dims" [[2,3],[4]] and "Input type" ["float","int"]. */
static uint64_t bytes_of_inputs(const char *event)
{
	const char *dims = argument(event, "\"Input Dims\":");
	const char *types = argument(event, "\"Input type\":"), *end;
	uint64_t sum = 0;

	if (!dims || !types || *dims++ != '[' || *types++ != '[')
		return 0;
	while (*dims == '[' && *types == '"' && (end = strchr(types + 1, '"'))) {
		sum += elements(&dims) * bytes_of_type(types + 1, (size_t)(end - types - 1));
		types = end + 1;
		types += *types == ',';
		dims += *dims == ',';
	}
	return sum;
}

static uint64_t bytes_of(const char *event)
{
	const char *type = argument(event, "\"dtype\":\""), *end = type ? strchr(type, '"') : NULL;
	int64_t n = number_argument(event, "\"In msg nelems\":");

	if (n >= 0 && n < INT64_C(1) << 50 && end)
		return (uint64_t)n * bytes_of_type(type, (size_t)(end - type));
	return bytes_of_inputs(event);
}

/* ---- one rank -------------------------------------------------------------------------------- */

struct finding {
	struct arena *a;
	const struct op_events *x;
	struct map asked; /* an operator's number → record_param_comms with it */
	struct buf text;
};

/* "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)" is AllReduce. */
static const char *kernel_word(struct arena *a, const char *name)
{
	const char *begin = strstr(name, "Kernel_"), *end;

	begin = begin ? begin + strlen("Kernel_") : name;
	end = begin + strcspn(begin, "_(<");
	return arena_strndup(a, begin, (size_t)(end - begin));
}

/* The arguments of who asked for it, where its own are not there. */
static const char *event_text(struct finding *f, size_t i)
{
	uint64_t asked;

	buf_clear(&f->text);
	op_event_json_print(f->x, i, &f->text);
	if (argument(buf_str(&f->text), "\"Collective name\":") ||
		!map_find(&f->asked, f->x->v.v[i].link, &asked))
		return buf_str(&f->text);
	buf_clear(&f->text);
	op_event_json_print(f->x, (size_t)asked, &f->text);
	return buf_str(&f->text);
}

static struct op_collective_call call_of(struct finding *f, size_t i)
{
	const struct op_event *e = &f->x->v.v[i];
	const char *name = op_events_name(f->x, e->name), *text = event_text(f, i);
	struct op_collective_call c = { .name = text_argument(f->a, text, "\"Collective name\":"),
		.group = text_argument(f->a, text, "\"Process Group Ranks\":"),
		.number = number_argument(text, "\"Seq\":"),
		.bytes = bytes_of(text),
		.start_ns = e->start_ns,
		.duration_ns = e->duration_ns };

	if (!*c.group)
		c.group = text_argument(f->a, text, "\"Process Group Name\":");
	if (!*c.name)
		c.name = marked(name) ? arena_strdup(f->a, marked(name)) : kernel_word(f->a, name);
	return c;
}

static int by_time(const void *a, const void *b)
{
	const struct op_collective_call *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

struct op_collective_calls op_collectives_find(struct arena *a, const struct op_events *x)
{
	struct finding f = { .a = a, .x = x };
	struct op_collective_calls to = { 0 };
	VEC(struct op_collective_call) found = VEC_INIT;

	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];

		to.on_device |= op_collectives_is_one(x, e, true);
		if (e->category == OP_CPU && e->link &&
			strcmp(op_events_name(x, e->name), "record_param_comms") == 0)
			map_put(&f.asked, e->link, i);
	}
	for (size_t i = 0; i < x->v.n; i++)
		if (op_collectives_is_one(x, &x->v.v[i], to.on_device))
			vec_push(&found, call_of(&f, i));
	if (found.n)
		qsort(found.v, found.n, sizeof *found.v, by_time);
	to.v = arena_copy(a, found.v, found.n * sizeof *found.v);
	to.n = found.n;
	vec_done(&found);
	map_done(&f.asked);
	buf_done(&f.text);
	return to;
}
