/* SPDX-License-Identifier: MIT
 * See table_rows.h; and the order of rows. */
#include "analyze/torch/table_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/flops.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

/* "[[2, 3], [[4], [4]], []]" as "[[2, 3], [], []]", with a blank after each comma. */
static void add_shapes(struct buf *out, const char *s, size_t n)
{
	unsigned depth = 0;
	bool is_list = false; /* of tensors, in the item at hand */
	size_t item = 0;      /* where it began in out */

	for (size_t i = 0; i < n && s[i]; i++) {
		if (s[i] == ' ' || s[i] == '\n')
			continue;
		if (s[i] == '[') {
			if (++depth == 2) {
				item = out->n;
				is_list = false;
			}
			is_list |= depth > 2;
		}
		if (depth <= 2)
			buf_addc(out, s[i]);
		if (s[i] == ',' && depth <= 2)
			buf_addc(out, ' ');
		if (s[i] == ']' && depth && depth-- == 2 && is_list) {
			out->n = item;
			buf_adds(out, "[]");
		}
	}
}

static const struct ops_shape *shape_of(struct ops_rows *r, const struct op_event *e)
{
	static const struct ops_shape none = { .text = "[]", .canonical = 0 };
	const struct intern_item *raw;
	struct ops_shape *shape;
	struct buf text = BUF_INIT;

	if (e->category > OP_PYTHON || !e->detail || e->detail > r->tree->x->shapes.items.n)
		return &none;
	shape = &r->shapes[e->detail - 1];
	if (shape->text)
		return shape;
	raw = intern_get(&r->tree->x->shapes, e->detail - 1);
	add_shapes(&text, raw->p, raw->n);
	shape->canonical = strcmp(buf_str(&text), "[]") == 0
		? 0
		: intern_add(&r->texts, buf_str(&text), text.n, NULL) + 1;
	shape->text = arena_strndup(r->arena, buf_str(&text), text.n);
	buf_done(&text);
	return shape;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void ops_rows_init(
	struct ops_rows *r, struct arena *a, const struct ops_tree *t, const struct ops_options *o)
{
	*r = (struct ops_rows){ .arena = a, .tree = t, .options = o };
	r->shapes = xcalloc(t->x->shapes.items.n + 1, sizeof *r->shapes);
}

static struct ops_row new_row(struct ops_rows *r, const struct op_event *e)
{
	const char *name = r->tree->name_flags[e->name] & OPS_NAME_STEP
		? "ProfilerStep*"
		: op_events_name(r->tree->x, e->name);

	return (struct ops_row){ .name = arena_strdup(r->arena, name),
		.shapes = r->options->by_shape ? shape_of(r, e)->text : "",
		.stack = "",
		.source = "",
		.module = "",
		.is_device = op_is_device(e),
		.is_annotation =
			e->category == OP_ANNOTATION || e->category == OP_DEVICE_ANNOTATION };
}

uint64_t ops_rows_torch_flops(struct ops_rows *r, const struct op_event *e)
{
	uint64_t key = (uint64_t)e->name << 32 | e->detail, flops;
	const struct intern_item *raw;

	if (e->category != OP_CPU || !e->detail || e->detail > r->tree->x->shapes.items.n)
		return 0;
	if (map_find(&r->flops_of, key, &flops))
		return flops;
	raw = intern_get(&r->tree->x->shapes, e->detail - 1);
	flops = ops_flops(op_events_name(r->tree->x, e->name), raw->p, raw->n);
	map_put(&r->flops_of, key, flops);
	return flops;
}

/* One number for both, small enough to stand in a key beside the name. */
static uint64_t pair_of(struct ops_rows *r, uint32_t shape, uint32_t stack)
{
	uint64_t key = (uint64_t)shape << 32 | stack, number;

	if (!stack)
		return shape ? (uint64_t)shape * 2 : 0;
	if (!map_find(&r->pair_of, key, &number)) {
		number = r->pair_of.n * 2 + 1;
		map_put(&r->pair_of, key, number);
	}
	return number;
}

struct ops_row *ops_rows_of(struct ops_rows *r, const struct op_event *e, uint32_t stack)
{
	uint64_t shape = pair_of(r, r->options->by_shape ? shape_of(r, e)->canonical : 0, stack);
	uint64_t kind = op_is_device(e) |
		(e->category == OP_ANNOTATION || e->category == OP_DEVICE_ANNOTATION) << 1;
	uint64_t key = (uint64_t)ops_name(r->tree, e->name) << 32 | shape << 2 | kind, at;

	if (!map_find(&r->row_of, key, &at)) {
		at = r->v.n;
		map_put(&r->row_of, key, at);
		vec_push(&r->v, new_row(r, e));
	}
	return &r->v.v[at];
}

struct ops *ops_rows_take(struct ops_rows *r)
{
	const struct op_events *x = r->tree->x;
	struct ops *ops = arena_new(r->arena, struct ops);

	ops->v = arena_new_n(r->arena, struct ops_row, r->v.n ? r->v.n : 1);
	ops->n = r->v.n;
	if (r->v.n)
		memcpy(ops->v, r->v.v, r->v.n * sizeof *ops->v);
	ops->has_memory = x->has_memory;
	ops->has_device = x->has_device;
	ops->has_flops = x->has_flops;
	vec_done(&r->v);
	map_done(&r->row_of);
	map_done(&r->flops_of);
	map_done(&r->pair_of);
	intern_done(&r->texts);
	free(r->shapes);
	return ops;
}

/* ---- order ----------------------------------------------------------------------------------- */

static double cpu_time(const struct ops_row *r)
{
	return r->n_calls ? r->cpu_us / (double)r->n_calls : 0;
}

static double device_time(const struct ops_row *r)
{
	return r->n_calls ? r->device_us / (double)r->n_calls : 0;
}

#define KEY(name, expression)                       \
	static double name(const struct ops_row *r) \
	{                                           \
		return (double)(expression);        \
	}
KEY(key_count, r->n_calls)
KEY(key_cpu, r->cpu_us)
KEY(key_self_cpu, r->self_cpu_us)
KEY(key_device, r->device_us)
KEY(key_self_device, r->self_device_us)
KEY(key_cpu_bytes, r->cpu_bytes)
KEY(key_self_cpu_bytes, r->self_cpu_bytes)
KEY(key_device_bytes, r->device_bytes)
KEY(key_self_device_bytes, r->self_device_bytes)
KEY(key_flops, r->flops)

static const struct {
	const char *name; /* "cuda", "xpu" and "privateuse1" stand for "device" */
	double (*value)(const struct ops_row *r);
} keys[] = {
	{ "count", key_count },
	{ "cpu_time", cpu_time },
	{ "cpu_time_total", key_cpu },
	{ "self_cpu_time_total", key_self_cpu },
	{ "device_time", device_time },
	{ "device_time_total", key_device },
	{ "self_device_time_total", key_self_device },
	{ "cpu_memory_usage", key_cpu_bytes },
	{ "self_cpu_memory_usage", key_self_cpu_bytes },
	{ "device_memory_usage", key_device_bytes },
	{ "self_device_memory_usage", key_self_device_bytes },
	{ "flops", key_flops },
};

struct keyed {
	double value;
	size_t index;
};

static int by_value(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static size_t find_key(const char *key)
{
	static const char *const devices[] = { "cuda", "xpu", "privateuse1" };
	struct buf name = BUF_INIT;
	size_t i;

	buf_adds(&name, key);
	for (size_t k = 0; k < sizeof devices / sizeof *devices; k++) {
		const char *found = strstr(key, devices[k]);

		if (!found)
			continue;
		buf_clear(&name);
		buf_add(&name, key, (size_t)(found - key));
		buf_adds(&name, "device");
		buf_adds(&name, found + strlen(devices[k]));
		break;
	}
	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(keys[i].name, buf_str(&name)) == 0)
			break;
	buf_done(&name);
	return i;
}

static void sum_up(struct ops *ops)
{
	ops->self_cpu_us = ops->self_device_us = 0;
	for (size_t i = 0; i < ops->n; i++) {
		const struct ops_row *r = &ops->v[i];

		ops->self_cpu_us += r->self_cpu_us;
		if (r->is_device && !r->is_annotation)
			ops->self_device_us += r->self_device_us;
		ops->has_device_time |= r->self_device_us > 0;
		ops->has_device_memory |= r->self_device_bytes > 0;
		ops->has_shapes |= *r->shapes && strcmp(r->shapes, "[]") != 0;
		ops->has_stack |= *r->stack != '\0';
		ops->has_source |= *r->source != '\0';
		ops->has_module |= *r->module != '\0';
	}
}

bool ops_sort(struct ops *ops, const char *key)
{
	size_t which = key ? find_key(key) : 0;
	struct keyed *order;
	struct ops_row *copy;

	if (which >= sizeof keys / sizeof *keys)
		return false;
	order = xcalloc(ops->n + 1, sizeof *order);
	copy = xcalloc(ops->n + 1, sizeof *copy);
	for (size_t i = 0; i < ops->n; i++) {
		order[i] = (struct keyed){ key ? keys[which].value(&ops->v[i]) : 0, i };
		copy[i] = ops->v[i];
	}
	qsort(order, ops->n, sizeof *order, by_value);
	for (size_t i = 0; i < ops->n; i++)
		ops->v[i] = copy[order[i].index];
	sum_up(ops);
	free(order);
	free(copy);
	return true;
}
