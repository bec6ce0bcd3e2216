/* SPDX-License-Identifier: MIT
 * See flops.h. */
#include "analyze/torch/flops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/shapes.h"
#include "base/banned.h"

/* Of two matrices, or of two stacks of n_batch of them. */
static uint64_t multiply(const struct ops_lists *x, size_t first, bool is_batched)
{
	const struct ops_list *a = &x->v[first], *b = &x->v[first + 1];
	uint64_t inner, n_batch;

	if (x->n < first + 2 || !a->n || !b->n)
		return 0;
	inner = (uint64_t)a->v[a->n - 1];
	n_batch = is_batched ? (uint64_t)a->v[0] : 1;
	if (!inner || !n_batch)
		return 0;
	return 2 * (ops_list_product(a) / inner) * ops_list_product(b) / n_batch;
}

static uint64_t convolve(const struct ops_lists *x, const struct ops_lists *arguments)
{
	const struct ops_list *in = &x->v[0], *kernel = &x->v[1], *stride = &arguments->v[3],
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
	struct ops_lists x, y;

	if (strncmp(name, "aten::", 6) != 0)
		return 0;
	name += 6;
	if (strcmp(name, "conv2d") == 0) {
		if (!arguments)
			return 0;
		x = ops_lists_parse(shapes, n_shapes);
		y = ops_lists_parse(arguments + 1, strnlen(arguments + 1, n - n_shapes - 1));
		return convolve(&x, &y);
	}
	if (strcmp(name, "mm") == 0 || strcmp(name, "addmm") == 0 || strcmp(name, "bmm") == 0 ||
		strcmp(name, "baddbmm") == 0) {
		x = ops_lists_parse(shapes, n_shapes);
		return multiply(&x, strstr(name, "add") ? 1 : 0, strstr(name, "bmm") != NULL);
	}
	if (strcmp(name, "mul") != 0 && strcmp(name, "add") != 0)
		return 0;
	x = ops_lists_parse(shapes, n_shapes);
	return x.n ? ops_list_product(&x.v[0]) : 0;
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
	struct ops_lists x = ops_lists_parse(shapes, strnlen(shapes, n));

	for (size_t i = 0; i < x.n; i++) {
		const struct ops_list *l = &x.v[i];

		if (l->n >= 2 && !l->is_bad && (l->v[l->n - 1] % 8 || l->v[l->n - 2] % 8))
			return true;
	}
	return false;
}
