/* SPDX-License-Identifier: MIT
 * See flops_own.h. */
#include "analyze/torch/flops_own.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/shapes.h"
#include "analyze/torch/tree.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* Where a formula finds what it needs, as numbers of shapes or of arguments. */
struct formula {
	const char *name;
	uint64_t (*flops)(const struct formula *f, const struct ops_lists *shapes,
		const struct ops_lists *arguments);
	uint8_t first;                     /* shape */
	uint8_t stride, padding, dilation; /* arguments */
	uint8_t transposed, mask;          /* arguments; 0: it has none */
	bool is_transposed;                /* always */
	uint8_t n_times;                   /* as much as one such product */
};

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? 0 : product;
}

static bool is_shape(const struct ops_list *l, size_t n)
{
	if (l->is_bad || l->n != n)
		return false;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] < 0 || l->v[i] > INT32_MAX)
			return false;
	return true;
}

/* Of dimensions from `from` on. */
static uint64_t volume(const struct ops_list *l, size_t from)
{
	uint64_t all = 1;

	for (size_t i = from; i < l->n; i++)
		all = times(all, (uint64_t)l->v[i]);
	return all;
}

/* ---- products -------------------------------------------------------------------------------- */

static uint64_t product(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	const struct ops_list *a = &x->v[f->first], *b = a + 1;

	(void)arguments;
	if (!is_shape(a, 2) || !is_shape(b, 2) || a->v[1] != b->v[0])
		return 0;
	return times(2 * volume(a, 0), (uint64_t)b->v[1]);
}

static uint64_t batched_product(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	const struct ops_list *a = &x->v[f->first], *b = a + 1;

	(void)arguments;
	if (!is_shape(a, 3) || !is_shape(b, 3) || a->v[0] != b->v[0] || a->v[2] != b->v[1])
		return 0;
	return times(2 * volume(a, 0), (uint64_t)b->v[2]);
}

/* Of a matrix, or a vector, with a vector. */
static uint64_t vector_product(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	const struct ops_list *a = &x->v[f->first], *b = a + 1;

	(void)arguments;
	if ((!is_shape(a, 1) && !is_shape(a, 2)) || !is_shape(b, 1) || a->v[a->n - 1] != b->v[0])
		return 0;
	return 2 * volume(a, 0);
}

/* Any number of vectors with a matrix of [out, in], `n_times` behind the first. */
static uint64_t linear(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	const struct ops_list *in = &x->v[0], *weight = &x->v[f->first];

	(void)arguments;
	if (!in->n || !is_shape(in, in->n) || !is_shape(weight, 2) ||
		in->v[in->n - 1] != weight->v[1])
		return 0;
	return times(2 * volume(in, 0), (uint64_t)weight->v[0]);
}

/* One layer: input [time, batch, in] with the weights of its gates, [gates, in] and [gates, hidden]. */
static uint64_t recurrent(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	const struct ops_list *in = &x->v[0], *own = &x->v[1], *hidden = &x->v[2];

	(void)arguments;
	if (!is_shape(in, 3) || !is_shape(own, 2) || !is_shape(hidden, 2) || in->v[2] != own->v[1])
		return 0;
	return times(2 * f->n_times * volume(own, 0) + 2 * f->n_times * volume(hidden, 0),
		times((uint64_t)in->v[0], (uint64_t)in->v[1]));
}

/* ---- attention ------------------------------------------------------------------------------- */

struct heads { /* of queries, keys and values, [batch, heads, length, size] each */
	uint64_t n, queries, keys, key_size, value_size;
};

static bool take_heads(const struct ops_lists *x, size_t first, struct heads *ret)
{
	const struct ops_list *q = &x->v[first], *k = q + 1, *v = q + 2;

	if (!is_shape(q, 4) || !is_shape(k, 4) || !is_shape(v, 4) || q->v[3] != k->v[3] ||
		k->v[2] != v->v[2])
		return false;
	*ret = (struct heads){ .n = (uint64_t)q->v[0] * (uint64_t)q->v[1],
		.queries = (uint64_t)q->v[2],
		.keys = (uint64_t)k->v[2],
		.key_size = (uint64_t)q->v[3],
		.value_size = (uint64_t)v->v[3] };
	return true;
}

/* Scores and their sums of values; what a mask leaves out is not known, and counts. */
static uint64_t attention(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	struct heads h;

	(void)arguments;
	if (!take_heads(x, f->first, &h))
		return 0;
	return times(times(2 * h.n, h.queries), times(h.keys, h.key_size + h.value_size));
}

/* The scores once more, and two products for each of the two. */
static uint64_t attention_backward(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	struct heads h;

	(void)arguments;
	if (!take_heads(x, f->first, &h))
		return 0;
	return times(times(2 * h.n, h.queries), times(h.keys, 3 * h.key_size + 2 * h.value_size));
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* A number stands for as many as there are dimensions. */
static int64_t along(const struct ops_list *l, size_t i, int64_t if_none)
{
	return l->is_bad || (l->n > 1 && i >= l->n) ? -1
		: !l->n                             ? if_none
						    : l->v[l->n == 1 ? 0 : i];
}

/* How many places the kernel is put at; 0: not known. */
static uint64_t places(const struct formula *f, const struct ops_list *in,
	const struct ops_list *kernel, const struct ops_lists *arguments)
{
	const struct ops_list *padding = &arguments->v[f->padding];
	size_t first = in->n + 2 - kernel->n; /* dimension; one less without a batch */
	uint64_t n = 1;

	if (arguments->n <= f->dilation || !padding->n) /* "same" */
		return 0;
	for (size_t i = 0; i + 2 < kernel->n; i++) {
		int64_t stride = along(&arguments->v[f->stride], i, -1);
		int64_t pad = along(padding, i, -1);
		int64_t dilation = along(&arguments->v[f->dilation], i, -1);
		int64_t wide;

		if (stride <= 0 || pad < 0 || pad > INT32_MAX || dilation <= 0 ||
			dilation > INT32_MAX || kernel->v[2 + i] > INT32_MAX / dilation)
			return 0;
		wide = in->v[first + i] + 2 * pad - dilation * (kernel->v[2 + i] - 1) - 1;
		if (wide < 0)
			return 0;
		n = times(n, (uint64_t)(wide / stride + 1));
	}
	return n;
}

static bool is_image(const struct ops_list *in, const struct ops_list *kernel)
{
	return kernel->n >= 3 && is_shape(kernel, kernel->n) && in->n >= kernel->n - 1 &&
		is_shape(in, in->n) && in->n <= kernel->n;
}

/* Each of the kernel's numbers counts at each place; of a transposed one at each place of the input. */
static uint64_t convolution(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	const struct ops_list *in = &x->v[0], *kernel = &x->v[1];
	bool is_transposed = f->is_transposed;
	uint64_t n;

	if (!is_image(in, kernel))
		return 0;
	if (f->transposed) {
		if (arguments->n <= f->transposed || arguments->v[f->transposed].n != 1)
			return 0;
		is_transposed = arguments->v[f->transposed].v[0];
	}
	n = is_transposed ? volume(in, in->n + 2 - kernel->n) : places(f, in, kernel, arguments);
	n = times(n, in->n == kernel->n ? (uint64_t)in->v[0] : 1);
	return times(2 * n, volume(kernel, 0));
}

/* The gradients of input and kernel each take what forward took, where they are asked for. */
static uint64_t convolution_backward(
	const struct formula *f, const struct ops_lists *x, const struct ops_lists *arguments)
{
	const struct ops_list *out = &x->v[0], *in = &x->v[1], *kernel = &x->v[2];
	const struct ops_list *mask = &arguments->v[f->mask];
	const struct ops_list *transposed = &arguments->v[f->transposed];
	uint64_t n;

	if (!is_image(in, kernel) || in->n != kernel->n || !is_shape(out, in->n) ||
		arguments->n <= f->mask || mask->n < 2 || transposed->n != 1)
		return 0;
	n = times((uint64_t)in->v[0], volume(transposed->v[0] ? in : out, 2));
	return times(
		times(2 * n, volume(kernel, 0)), (uint64_t)(mask->v[0] != 0) + (mask->v[1] != 0));
}

/* ---- which ----------------------------------------------------------------------------------- */

#define CONVOLUTION .flops = convolution, .stride = 3, .padding = 4, .dilation = 5
#define TRANSPOSED  .flops = convolution, .is_transposed = true

/* Alphabetical. */
static const struct formula formulas[] = {
	{ "aten::_addmm_activation", product, .first = 1 },
	{ "aten::_convolution", CONVOLUTION, .transposed = 6 },
	{ "aten::_scaled_dot_product_cudnn_attention", attention },
	{ "aten::_scaled_dot_product_cudnn_attention_backward", attention_backward, .first = 1 },
	{ "aten::_scaled_dot_product_efficient_attention", attention },
	{ "aten::_scaled_dot_product_efficient_attention_backward", attention_backward,
		.first = 1 },
	{ "aten::_scaled_dot_product_flash_attention", attention },
	{ "aten::_scaled_dot_product_flash_attention_backward", attention_backward, .first = 1 },
	{ "aten::_scaled_dot_product_flash_attention_for_cpu", attention },
	{ "aten::_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward,
		.first = 1 },
	{ "aten::_scaled_dot_product_fused_attention_overrideable", attention },
	{ "aten::_scaled_dot_product_fused_attention_overrideable_backward", attention_backward,
		.first = 1 },
	{ "aten::_scaled_mm", product },
	{ "aten::addbmm", batched_product, .first = 1 },
	{ "aten::addmm", product, .first = 1 },
	{ "aten::addmv", vector_product, .first = 1 },
	{ "aten::baddbmm", batched_product, .first = 1 },
	{ "aten::bmm", batched_product },
	{ "aten::conv1d", CONVOLUTION },
	{ "aten::conv2d", CONVOLUTION },
	{ "aten::conv3d", CONVOLUTION },
	{ "aten::conv_transpose1d", TRANSPOSED },
	{ "aten::conv_transpose2d", TRANSPOSED },
	{ "aten::conv_transpose3d", TRANSPOSED },
	{ "aten::convolution", CONVOLUTION, .transposed = 6 },
	{ "aten::convolution_backward", convolution_backward, .transposed = 7, .mask = 10 },
	{ "aten::convolution_overrideable", CONVOLUTION, .transposed = 6 },
	{ "aten::dot", vector_product },
	{ "aten::mkldnn_rnn_layer", recurrent, .n_times = 1 },
	{ "aten::mkldnn_rnn_layer_backward", recurrent, .n_times = 2 },
	{ "aten::mm", product },
	{ "aten::mv", vector_product },
	{ "aten::vdot", vector_product },
	{ "mkl::_mkl_linear", linear, .first = 2 },
	{ "mkldnn::_convolution_pointwise", convolution, .padding = 3, .stride = 4, .dilation = 5 },
	{ "mkldnn::_linear_pointwise", linear, .first = 1 },
};

static int by_name(const void *key, const void *row)
{
	return strcmp(key, ((const struct formula *)row)->name);
}

static const struct formula *find_formula(const char *name)
{
	return bsearch(
		name, formulas, sizeof formulas / sizeof *formulas, sizeof *formulas, by_name);
}

static uint64_t count(const struct formula *f, const char *entry, size_t n)
{
	struct ops_lists shapes = ops_shapes(entry, n), arguments = ops_arguments(entry, n);

	return f->flops(f, &shapes, &arguments);
}

uint64_t ops_work(const char *name, const char *entry, size_t n)
{
	const struct formula *f = find_formula(name);

	return f ? count(f, entry, n) : 0;
}

/* ---- all of a trace -------------------------------------------------------------------------- */

struct counting {
	const struct op_events *x;
	const struct formula **formula_of; /* by name; NULL: none */
	struct map known;                  /* name and shapes → FLOPs */
};

static uint64_t count_event(struct counting *c, const struct op_event *e)
{
	uint64_t key = (uint64_t)e->name << 32 | e->detail, flops;
	const struct intern_item *raw;

	if (e->category != OP_CPU || !c->formula_of[e->name] || !e->detail ||
		e->detail > c->x->shapes.items.n)
		return 0;
	if (map_find(&c->known, key, &flops))
		return flops;
	raw = intern_get(&c->x->shapes, e->detail - 1);
	flops = count(c->formula_of[e->name], raw->p, raw->n);
	map_put(&c->known, key, flops);
	return flops;
}

uint64_t *ops_work_of_all(const struct ops_tree *t)
{
	struct counting c = { .x = t->x, .known = MAP_INIT };
	size_t n_names = t->x->names.items.n, n = t->n_events + t->extra.n;
	uint64_t *flops = xcalloc(n + 1, sizeof *flops);
	bool *is_within = xcalloc(n + 1, sizeof *is_within); /* one that counts, or is one */

	c.formula_of = xcalloc(n_names + 1, sizeof *c.formula_of);
	for (size_t i = 0; i < n_names; i++)
		c.formula_of[i] = find_formula(op_events_name(t->x, (uint32_t)i));
	for (size_t i = 0; i < t->n; i++) { /* callers come before their calls */
		uint32_t node = t->order[i], up = t->parent[node];

		is_within[node] = up != OPS_NONE && is_within[up];
		if (!is_within[node])
			flops[node] = count_event(&c, ops_node(t, node));
		is_within[node] |= flops[node] > 0;
	}
	free(c.formula_of);
	free(is_within);
	map_done(&c.known);
	return flops;
}
