/* SPDX-License-Identifier: MIT
 * See host_request.h. */
#include "cmd/host_request.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "base/banned.h"

static int bad(struct err *e, const char *key)
{
	return err_set(e, ERR_USAGE, "request: '%s' is not valid", key);
}

static int read_string(struct host_request *r, struct json_reader *j, const char **ret,
	const char *key, struct err *e)
{
	enum json_token t;

	if (json_next(j, &t, e) < 0)
		return -(int)e->code;
	if (t != JSON_STRING || memchr(j->text, '\0', j->n))
		return bad(e, key);
	*ret = arena_strndup(&r->arena, j->text, j->n);
	return 0;
}

static int read_words(struct host_request *r, struct json_reader *j, struct err *e)
{
	const char **words = arena_new_n(&r->arena, const char *, HOST_WORDS + 1);
	enum json_token t;

	r->n_words = 0;
	if (json_next(j, &t, e) < 0)
		return -(int)e->code;
	if (t != JSON_ARRAY_BEGIN)
		return bad(e, "argv");
	for (;;) {
		if (json_next(j, &t, e) < 0)
			return -(int)e->code;
		if (t == JSON_ARRAY_END)
			break;
		if (t != JSON_STRING || memchr(j->text, '\0', j->n) || r->n_words == HOST_WORDS)
			return bad(e, "argv");
		words[r->n_words++] = arena_strndup(&r->arena, j->text, j->n);
	}
	words[r->n_words] = NULL;
	r->argv = words;
	return 0;
}

/* [begin, duration, tid, name] */
static int read_region(
	struct host_request *r, struct json_reader *j, struct host_region *ret, struct err *e)
{
	uint64_t numbers[3];
	enum json_token t;

	for (size_t i = 0; i < 3; i++)
		if (json_next(j, &t, e) < 0 || t != JSON_NUMBER || !json_number_u64(j, &numbers[i]))
			return bad(e, "regions");
	*ret = (struct host_region){ numbers[0], numbers[1], (uint32_t)numbers[2], NULL };
	if (read_string(r, j, &ret->name, "regions", e) < 0)
		return -(int)e->code;
	return json_next(j, &t, e) < 0 || t != JSON_ARRAY_END ? bad(e, "regions") : 0;
}

static int read_regions(struct host_request *r, struct json_reader *j, struct err *e)
{
	VEC(struct host_region) v = VEC_INIT;
	enum json_token t;
	int status = json_next(j, &t, e);

	if (status == 0 && t != JSON_ARRAY_BEGIN)
		status = bad(e, "regions");
	while (status == 0 && (status = json_next(j, &t, e)) == 0 && t != JSON_ARRAY_END) {
		struct host_region one;

		if (t != JSON_ARRAY_BEGIN || v.n == HOST_REGIONS)
			status = bad(e, "regions");
		else if ((status = read_region(r, j, &one, e)) == 0)
			vec_push(&v, one);
	}
	r->regions = arena_copy(&r->arena, v.v, v.n * sizeof *v.v);
	r->n_regions = v.n;
	vec_done(&v);
	return status;
}

static int read_value(struct host_request *r, struct json_reader *j, struct err *e)
{
	const struct {
		const char *key;
		const char **to;
	} strings[] = { { "do", &r->what }, { "path", &r->path }, { "rate", &r->rate },
		{ "text", &r->text }, { "name", &r->name }, { "exclude", &r->exclude } };
	const struct {
		const char *key;
		bool *to;
	} flags[] = { { "children", &r->children }, { "trace", &r->trace },
		{ "lines", &r->lines } };
	enum json_token t;

	for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
		if (json_text_is(j, strings[i].key))
			return read_string(r, j, strings[i].to, strings[i].key, e);
	if (json_text_is(j, "argv"))
		return read_words(r, j, e);
	if (json_text_is(j, "regions"))
		return read_regions(r, j, e);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (!json_text_is(j, flags[i].key))
			continue;
		if (json_next(j, &t, e) < 0)
			return -(int)e->code;
		*flags[i].to = t == JSON_TRUE;
		return t == JSON_TRUE || t == JSON_FALSE ? 0 : bad(e, flags[i].key);
	}
	return json_skip(j, e);
}

int host_request_parse(struct host_request *r, const char *line, size_t n_bytes, struct err *e)
{
	struct json_reader j;
	enum json_token t;
	int status;

	*r = (struct host_request){ .what = "" };
	json_reader_init_memory(&j, line, n_bytes);
	status = json_next(&j, &t, e);
	if (status == 0 && t != JSON_OBJECT_BEGIN)
		status = bad(e, "request");
	while (status == 0 && (status = json_next(&j, &t, e)) == 0 && t == JSON_KEY)
		status = read_value(r, &j, e);
	json_reader_done(&j);
	return status;
}

void host_request_done(struct host_request *r)
{
	arena_done(&r->arena);
}

int host_request_next(struct buf *input, struct host_request *r, bool *ret_found, struct err *e)
{
	const char *end = input->n ? memchr(input->data, '\n', input->n) : NULL;
	size_t n;
	int status;

	*ret_found = false;
	if (!end)
		return input->n <= HOST_LINE_BYTES
			? 0
			: err_set(e, ERR_BAD_FILE, "request: longer than %d bytes",
				  HOST_LINE_BYTES);
	n = (size_t)(end - input->data);
	status = host_request_parse(r, input->data, n, e);
	memmove(input->data, end + 1, input->n - n); /* with its NUL */
	input->n -= n + 1;
	*ret_found = true;
	return status;
}

void host_answer(struct buf *out, const void *payload, size_t n_bytes)
{
	buf_printf(out, "ok %zu\n", n_bytes);
	buf_add(out, payload, n_bytes);
}

void host_answer_error(struct buf *out, int status, const char *text)
{
	buf_printf(out, "error %d %zu\n%s", status, strlen(text), text);
}
