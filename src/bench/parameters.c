/* SPDX-License-Identifier: MIT
 * See parameters.h. */
#include "bench/parameters.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/banned.h"

enum { DECIMALS_MOST = 12 };

typedef VEC(const char *) strings;

static int add(
	struct parameters *p, struct arena *a, const char *name, strings *values, struct err *e)
{
	int status = 0;

	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].name, name) == 0)
			status = err_set(e, ERR_USAGE, "the parameter '%s' is given twice", name);
	if (status == 0 && p->n == PARAMETERS_MOST)
		status = err_set(
			e, ERR_USAGE, "at most %d parameters are possible", PARAMETERS_MOST);
	if (status == 0 && !*name)
		status = err_set(e, ERR_USAGE, "a parameter needs a name");
	if (status == 0) {
		p->v[p->n].name = name;
		p->v[p->n].values = arena_copy(a, values->v, values->n * sizeof *values->v);
		p->v[p->n++].n = values->n;
	}
	vec_done(values);
	return status;
}

int parameters_add_list(
	struct parameters *p, struct arena *a, const char *name, const char *list, struct err *e)
{
	strings values = VEC_INIT;
	struct buf one = BUF_INIT;

	for (const char *c = list;; c++) {
		if (*c == '\\' && c[1] == ',') {
			buf_addc(&one, *++c);
		} else if (*c && *c != ',') {
			buf_addc(&one, *c);
		} else {
			vec_push(&values, arena_strdup(a, buf_str(&one)));
			buf_clear(&one);
		}
		if (!*c)
			break;
	}
	buf_done(&one);
	return add(p, a, name, &values, e);
}

/* A plain decimal number and how many digits stand behind its point. */
static bool parse_decimal(const char *text, double *ret, int *ret_decimals)
{
	size_t n = strspn(text, "+-0123456789.");
	const char *point = strchr(text, '.');
	char *end;

	*ret = strtod(text, &end);
	*ret_decimals = point ? (int)strlen(point + 1) : 0;
	return n == strlen(text) && end != text && !*end && *ret_decimals <= DECIMALS_MOST;
}

int parameters_add_range(struct parameters *p, struct arena *a, const char *name, const char *low,
	const char *high, const char *step, struct err *e)
{
	double from, to, by;
	int decimals[3], most;
	strings values = VEC_INIT;

	if (!parse_decimal(low, &from, &decimals[0]) || !parse_decimal(high, &to, &decimals[1]) ||
		!parse_decimal(step ? step : "1", &by, &decimals[2]))
		return err_set(e, ERR_USAGE,
			"-P %s %s %s: LOW and HIGH must be numbers, and so must the step of -D",
			name, low, high);
	if (from > to)
		return err_set(e, ERR_USAGE, "-P %s %s %s: the range is empty", name, low, high);
	if (!(by > 0) || (to - from) / by >= PARAMETER_VALUES_MOST)
		return err_set(e, ERR_USAGE, "-P %s %s %s: the step %s makes more than %d values",
			name, low, high, step ? step : "1", PARAMETER_VALUES_MOST);
	most = decimals[0] > decimals[2] ? decimals[0] : decimals[2];
	/* A thousandth of a step more, so that rounding does not lose the last. */
	for (size_t i = 0; from + (double)i * by <= to + by / 1000; i++)
		vec_push(&values, arena_printf(a, "%.*f", most, from + (double)i * by));
	return add(p, a, name, &values, e);
}

size_t parameters_combinations(const struct parameters *p)
{
	size_t all = 1;

	for (size_t i = 0; i < p->n; i++)
		all = all > SIZE_MAX / p->v[i].n ? SIZE_MAX : all * p->v[i].n;
	return all;
}

const struct series_parameter *parameters_pick(
	const struct parameters *p, struct arena *a, size_t combination)
{
	struct series_parameter *v = arena_new_n(a, struct series_parameter, p->n);

	for (size_t i = 0; i < p->n; i++) {
		v[i] = (struct series_parameter){ p->v[i].name,
			p->v[i].values[combination % p->v[i].n] };
		combination /= p->v[i].n;
	}
	return v;
}

/* The parameter whose {name} stands at the beginning of `at`; NULL: none. */
static const struct series_parameter *find_at(
	const char *at, const struct series_parameter *v, size_t n)
{
	if (*at != '{')
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(v[i].name);

		if (strncmp(at + 1, v[i].name, length) == 0 && at[1 + length] == '}')
			return &v[i];
	}
	return NULL;
}

const char *parameters_fill(
	struct arena *a, const char *text, const struct series_parameter *v, size_t n)
{
	struct buf out = BUF_INIT;
	const char *filled;

	if (!text || !n)
		return text;
	for (const char *c = text; *c; c++) {
		const struct series_parameter *p = find_at(c, v, n);

		if (p) {
			buf_adds(&out, p->value);
			c += strlen(p->name) + 1;
		} else {
			buf_addc(&out, *c);
		}
	}
	filled = arena_strdup(a, buf_str(&out));
	buf_done(&out);
	return filled;
}

static bool stands_in(const char *text, const struct series_parameter *p)
{
	for (; *text; text++)
		if (find_at(text, p, 1))
			return true;
	return false;
}

const char *parameters_title(struct arena *a, const char *name, const char *text,
	const struct series_parameter *v, size_t n)
{
	struct buf out = BUF_INIT;
	const char *title;

	for (size_t i = 0; i < n; i++)
		if (!stands_in(text, &v[i]))
			buf_printf(&out, "%s%s = %s", out.n ? ", " : "", v[i].name, v[i].value);
	title = out.n ? arena_printf(a, "%s (%s)", name, buf_str(&out)) : name;
	buf_done(&out);
	return title;
}
