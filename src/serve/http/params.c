/* SPDX-License-Identifier: MIT
 * See params.h. */
#include "serve/http/params.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/banned.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes %XX and "+". NULL: a bad escape, or a NUL. */
static char *decode(struct arena *a, const char *p, size_t n)
{
	char *text = arena_alloc(a, n + 1), *to = text;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '+') {
			*to++ = ' ';
		} else if (p[i] == '%') {
			int high = n - i > 2 ? hex(p[i + 1]) : -1;
			int low = n - i > 2 ? hex(p[i + 2]) : -1;

			if (high < 0 || low < 0 || high + low == 0)
				return NULL;
			*to++ = (char)(high << 4 | low);
			i += 2;
		} else {
			*to++ = p[i];
		}
	}
	*to = '\0';
	return text;
}

int params_parse(struct params *p, const char *query, struct err *e)
{
	*p = (struct params){ 0 };
	if (!query)
		return 0;
	if (strlen(query) > PARAMS_BYTES)
		return err_set(e, ERR_USAGE, "the request is longer than %d bytes", PARAMS_BYTES);
	while (*query) {
		size_t n = strcspn(query, "&"), n_name = strcspn(query, "=&");
		struct param x = { decode(&p->arena, query, n_name),
			n_name < n ? decode(&p->arena, query + n_name + 1, n - n_name - 1) : "" };

		if (!x.name || !x.value)
			return err_set(e, ERR_USAGE, "the request is not escaped correctly");
		if (p->n == PARAMS_MOST)
			return err_set(e, ERR_USAGE, "the request has more than %d parameters",
				PARAMS_MOST);
		if (n)
			p->v[p->n++] = x;
		query += n;
		query += *query == '&';
	}
	return 0;
}

void params_done(struct params *p)
{
	arena_done(&p->arena);
	p->n = 0;
}

void params_add(struct params *p, const char *name, const char *value)
{
	if (p->n < PARAMS_MOST)
		p->v[p->n++] = (struct param){ arena_strdup(&p->arena, name),
			arena_strdup(&p->arena, value) };
}

const char *params_find(const struct params *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].name, name) == 0)
			return p->v[i].value;
	return NULL;
}

bool params_is_set(const struct params *p, const char *name)
{
	const char *value = params_find(p, name);

	return value && strcmp(value, "1") == 0;
}

size_t params_all(struct params *p, const char *name, const char *const **ret)
{
	const char **v = arena_new_n(&p->arena, const char *, PARAMS_MOST);
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].name, name) == 0 && *p->v[i].value)
			v[n++] = p->v[i].value;
	*ret = v;
	return n;
}

int params_number(const struct params *p, const char *name, double low, double high, double *ret,
	struct err *e)
{
	const char *text = params_find(p, name);
	char *end;
	double value;

	if (!text || !*text)
		return 0;
	value = strtod(text, &end);
	if (end == text || *end || !(value >= low && value <= high))
		return err_set(e, ERR_USAGE, "%s must be a number from %g to %g, not '%.100s'",
			name, low, high, text);
	*ret = value;
	return 0;
}

int params_u32(
	const struct params *p, const char *name, uint32_t high, uint32_t *ret, struct err *e)
{
	double value = *ret;

	if (params_number(p, name, 0, high, &value, e) < 0)
		return -(int)e->code;
	*ret = (uint32_t)value;
	return 0;
}
