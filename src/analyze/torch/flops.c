/* SPDX-License-Identifier: MIT
 * See ops_flops.h. */
#include "analyze/ops_flops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { LISTS = 8, DIMS = 8 };

struct list {
	int64_t v[DIMS];
	size_t n;
	bool is_bad; /* a list of tensors, or longer than any of use */
};

struct lists {
	struct list v[LISTS];
	size_t n;
};

static void add_number(struct list *to, int64_t value)
{
	if (to->n < DIMS)
		to->v[to->n++] = value;
	else
		to->is_bad = true;
}

/* The inner lists of "[[8, 16], [16, 4]]", or of the texts in ["", "[1, 1]", "1"] (a number is a list of one). */
static struct lists parse(const char *s, size_t n)
{
	struct lists all = { 0 };
	unsigned depth = 0;
	bool is_text = false;

	for (size_t i = 0; i < n && all.n <= LISTS; i++) {
		struct list *last = all.n ? &all.v[all.n - 1] : NULL;

		if (s[i] == '"' && (is_text = !is_text) && all.n++ < LISTS) {
			all.v[all.n - 1] = (struct list){ 0 };
		} else if (s[i] == '[' && ++depth == 2 && !is_text && all.n++ < LISTS) {
			all.v[all.n - 1] = (struct list){ 0 };
		} else if (s[i] == '[' && depth > 2 && last) {
			last->is_bad = true;
		} else if (s[i] == ']' && depth) {
			depth--;
		} else if (last && ((s[i] >= '0' && s[i] <= '9') || s[i] == '-')) {
			int64_t value = 0;
			bool is_negative = s[i] == '-';

			for (i += is_negative; i < n && s[i] >= '0' && s[i] <= '9'; i++)
				value = value < INT32_MAX ? value * 10 + (s[i] - '0') : value;
			i--;
			add_number(last, is_negative ? -value : value);
		}
	}
	if (all.n > LISTS)
		all.n = LISTS;
	return all;
}

static uint64_t product(const struct list *l)
{
	uint64_t all = 1;

	for (size_t i = 0; i < l->n; i++)
		all *= (uint64_t)l->v[i];
	return l->is_bad ? 0 : all;
}

/* Of two matrices, or of two stacks of n_batch of them. */
static uint64_t multiply(const struct lists *x, size_t first, bool is_batched)
{
	const struct list *a = &x->v[first], *b = &x->v[first + 1];
	uint64_t inner, n_batch;

	if (x->n < first + 2 || !a->n || !b->n)
		return 0;
	inner = (uint64_t)a->v[a->n - 1];
	n_batch = is_batched ? (uint64_t)a->v[0] : 1;
	if (!inner || !n_batch)
		return 0;
	return 2 * (product(a) / inner) * product(b) / n_batch;
}

static uint64_t convolve(const struct lists *x, const struct lists *arguments)
{
	const struct list *in = &x->v[0], *kernel = &x->v[1], *stride = &arguments->v[3],
			  *padding = &arguments->v[4], *dilation = &arguments->v[5],
			  *groups = &arguments->v[6];
	uint64_t out = 1;

	if (x->n < 2 || in->n != 4 || kernel->n != 4 || arguments->n < 7 || stride->n != 2 ||
		padding->n != 2 || dilation->n != 2 || groups->n != 1 || groups->v[0] <= 0)
		return 0;
	for (size_t i = 0; i < 2; i++) {
		if (stride->v[i] <= 0)
			return 0;
		out *= (uint64_t)((in->v[2 + i] + 2 * padding->v[i] -
					  dilation->v[i] * (kernel->v[2 + i] - 1) - 1) /
				stride->v[i] +
			1);
	}
	return 2 * (uint64_t)in->v[0] * out * (uint64_t)kernel->v[2] * (uint64_t)kernel->v[3] *
		(uint64_t)in->v[1] * (uint64_t)kernel->v[0] / (uint64_t)groups->v[0];
}

uint64_t ops_flops(const char *name, const char *shapes, size_t n)
{
	const char *arguments = memchr(shapes, '\0', n);
	size_t n_shapes = arguments ? (size_t)(arguments - shapes) : n;
	struct lists x, y;

	if (strncmp(name, "aten::", 6) != 0)
		return 0;
	name += 6;
	if (strcmp(name, "conv2d") == 0) {
		if (!arguments)
			return 0;
		x = parse(shapes, n_shapes);
		y = parse(arguments + 1, strnlen(arguments + 1, n - n_shapes - 1));
		return convolve(&x, &y);
	}
	if (strcmp(name, "mm") == 0 || strcmp(name, "addmm") == 0 || strcmp(name, "bmm") == 0 ||
		strcmp(name, "baddbmm") == 0) {
		x = parse(shapes, n_shapes);
		return multiply(&x, strstr(name, "add") ? 1 : 0, strstr(name, "bmm") != NULL);
	}
	if (strcmp(name, "mul") != 0 && strcmp(name, "add") != 0)
		return 0;
	x = parse(shapes, n_shapes);
	return x.n ? product(&x.v[0]) : 0;
}

/* ---- types ----------------------------------------------------------------------------------- */

enum ops_type ops_type(const char *shapes, size_t n)
{
	static const struct {
		const char *word;
		enum ops_type type;
	} words[] = { { "double", OPS_DOUBLE }, { "float", OPS_FLOAT }, { "c10::Half", OPS_HALF },
		{ "c10::BFloat16", OPS_HALF } };
	const char *at = memchr(shapes, '\0', n), *end = shapes + n, *quote;

	at = at ? memchr(at + 1, '\0', (size_t)(end - at - 1)) : NULL;
	while (at && (at = memchr(at, '"', (size_t)(end - at))) &&
		(quote = memchr(at + 1, '"', (size_t)(end - at - 1)))) {
		size_t length = (size_t)(quote - at - 1);

		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (strlen(words[i].word) == length &&
				memcmp(words[i].word, at + 1, length) == 0)
				return words[i].type;
		at = quote + 1;
	}
	return OPS_NO_TYPE;
}

bool ops_shapes_are_odd(const char *shapes, size_t n)
{
	struct lists x = parse(shapes, strnlen(shapes, n));

	for (size_t i = 0; i < x.n; i++) {
		const struct list *l = &x.v[i];

		if (l->n >= 2 && !l->is_bad && (l->v[l->n - 1] % 8 || l->v[l->n - 2] % 8))
			return true;
	}
	return false;
}
