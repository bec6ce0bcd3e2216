/* SPDX-License-Identifier: MIT
 * See axis.h. */
#include "bench/axis.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/banned.h"

enum { PER_DECADE = 3, LEAST_POINTS = 6 };

static bool is_name(const char *s, size_t n)
{
	if (n == 0 || isdigit((unsigned char)s[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] != '_' && !isalnum((unsigned char)s[i]))
			return false;
	return true;
}

static bool parse_size(const char *s, size_t n, uint64_t *ret)
{
	char text[32];

	if (n >= sizeof text)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)n, s);
	return text_parse_u64(text, ret) && *ret > 0;
}

static bool add(struct axis *a, uint64_t value)
{
	if (a->n && value <= a->v[a->n - 1])
		return false;
	if (a->n == AXIS_MOST)
		return false;
	a->v[a->n++] = value;
	return true;
}

/* Two digits, as people choose sizes. */
static uint64_t rounded(double value)
{
	double unit = pow(10, floor(log10(value)) - 1);

	return (uint64_t)llround(unit < 1 ? value : round(value / unit) * unit);
}

static bool fill_range(struct axis *a, uint64_t low, uint64_t high)
{
	double decades = log10((double)high / (double)low);
	size_t n = 1 + (size_t)ceil(PER_DECADE * decades);

	if (high <= low)
		return false;
	n = n < LEAST_POINTS ? LEAST_POINTS : n > AXIS_MOST ? AXIS_MOST : n;
	add(a, low);
	for (size_t i = 1; i + 1 < n; i++) {
		uint64_t size =
			rounded((double)low * pow(10, decades * (double)i / (double)(n - 1)));

		if (size < high)
			add(a, size); /* those that fall on the one before are left out */
	}
	return add(a, high);
}

static bool fill_list(struct axis *a, const char *at)
{
	for (;;) {
		size_t n = strcspn(at, ",");
		uint64_t size;

		if (!parse_size(at, n, &size) || !add(a, size))
			return false;
		if (!at[n])
			return true;
		at += n + 1;
	}
}

int axis_parse(
	struct axis *ret, struct arena *a, const char *text, const char *option, struct err *e)
{
	const char *equals = strchr(text, '='), *dots = equals ? strstr(equals, "..") : NULL;
	uint64_t low, high;
	bool is_good = equals && is_name(text, (size_t)(equals - text));

	*ret = (struct axis){ 0 };
	if (is_good && dots)
		is_good = parse_size(equals + 1, (size_t)(dots - equals - 1), &low) &&
			parse_size(dots + 2, strlen(dots + 2), &high) && fill_range(ret, low, high);
	else if (is_good)
		is_good = fill_list(ret, equals + 1);
	if (!is_good)
		return err_set(e, ERR_USAGE,
			"%s expects a name and rising numbers such as n=1k..1M or n=10,100,1000, not '%s'",
			option, text);
	ret->name = arena_strndup(a, text, (size_t)(equals - text));
	ret->is_range = dots != NULL;
	return 0;
}
