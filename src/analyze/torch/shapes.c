/* SPDX-License-Identifier: MIT
 * See shapes.h. */
#include "analyze/torch/shapes.h"

#include <string.h>

#include "base/banned.h"

static void add_number(struct ops_list *to, int64_t value)
{
	if (to->n < OPS_DIMS)
		to->v[to->n++] = value;
	else
		to->is_bad = true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* From a digit or '-' on; returns the last character of it. */
static size_t take_number(const char *s, size_t n, size_t i, struct ops_list *to)
{
	bool is_negative = s[i] == '-';
	int64_t value = 0;

	for (i += is_negative; i < n && is_digit(s[i]); i++)
		value = value < INT32_MAX ? value * 10 + (s[i] - '0') : value;
	add_number(to, is_negative ? -value : value);
	return i - 1;
}

static bool is_at(const char *s, size_t n, size_t i, const char *word)
{
	return n - i >= strlen(word) && memcmp(s + i, word, strlen(word)) == 0;
}

struct ops_lists ops_lists_parse(const char *s, size_t n)
{
	struct ops_lists all = { 0 };
	unsigned depth = 0;
	bool is_text = false;

	for (size_t i = 0; i < n && all.n <= OPS_LISTS; i++) {
		struct ops_list *last = all.n ? &all.v[all.n - 1] : NULL;

		if (s[i] == '"' && (is_text = !is_text) && all.n++ < OPS_LISTS)
			all.v[all.n - 1] = (struct ops_list){ 0 };
		else if (s[i] == '[' && ++depth == 2 && !is_text && all.n++ < OPS_LISTS)
			all.v[all.n - 1] = (struct ops_list){ 0 };
		else if (s[i] == '[' && depth > 2 && last)
			last->is_bad = true;
		else if (s[i] == ']' && depth)
			depth--;
		else if (last && (is_digit(s[i]) || s[i] == '-'))
			i = take_number(s, n, i, last);
		else if (last && is_text && (is_at(s, n, i, "True") || is_at(s, n, i, "False")))
			add_number(last, s[i] == 'T');
	}
	if (all.n > OPS_LISTS)
		all.n = OPS_LISTS;
	return all;
}

uint64_t ops_list_product(const struct ops_list *l)
{
	uint64_t all = 1;

	for (size_t i = 0; i < l->n; i++)
		all *= (uint64_t)l->v[i];
	return l->is_bad ? 0 : all;
}

struct ops_lists ops_shapes(const char *entry, size_t n)
{
	return ops_lists_parse(entry, strnlen(entry, n));
}

struct ops_lists ops_arguments(const char *entry, size_t n)
{
	size_t at = strnlen(entry, n) + 1;

	return at < n ? ops_lists_parse(entry + at, strnlen(entry + at, n - at))
		      : (struct ops_lists){ 0 };
}
