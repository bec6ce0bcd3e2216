/* SPDX-License-Identifier: MIT
 * See ops.h: the table as torch.profiler prints it, to the character. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/table.h"
#include "base/buf.h"
#include "base/text.h"
#include "view/torch/table.h"
#include "base/banned.h"

enum { COLUMN = 12, NAME_MOST = 55, SHAPES_MOST = 80, COLUMNS = 20, CELL = 32 };

struct page {
	const struct ops *ops;
	const struct ops_torch *torch;
	struct buf *out;
	size_t name_width, shapes_width;
	size_t widths[COLUMNS], n_columns;
	double flops_scale;
	const char *flops_title; /* NULL: no such column */
};

/* ---- cells ----------------------------------------------------------------------------------- */

/* Characters, as Python counts them. */
static size_t length(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* The bytes of the first n characters. */
static size_t first(const char *s, size_t n)
{
	const char *at = s;

	for (; *at && n; n--)
		do
			at++;
		while (((unsigned char)*at & 0xc0) == 0x80);
	return (size_t)(at - s);
}

static void add_cell(struct page *p, size_t *column, const char *text)
{
	size_t n = length(text), width = p->widths[(*column)++];

	buf_fill(p->out, ' ', n < width ? width - n : 0);
	text_add_printable(p->out, text, strlen(text));
	buf_adds(p->out, "  ");
}

static void format_time(char out[CELL], double us)
{
	if (us >= 1e6)
		snprintf(out, CELL, "%.3fs", us / 1e6);
	else if (us >= 1e3)
		snprintf(out, CELL, "%.3fms", us / 1e3);
	else
		snprintf(out, CELL, "%.3fus", us);
}

static void add_time(struct page *p, size_t *column, double us)
{
	char text[CELL];

	format_time(text, us);
	add_cell(p, column, text);
}

static void add_share(struct page *p, size_t *column, double us, double all_us)
{
	char text[CELL];

	snprintf(text, sizeof text, "%.2f%%", us * 100.0 / all_us);
	add_cell(p, column, all_us == 0 ? "NaN" : text);
}

static void add_bytes(struct page *p, size_t *column, int64_t bytes)
{
	static const char *const units[2][4] = { { "GB", "MB", "KB", "B" },
		{ "Gb", "Mb", "Kb", "b" } };
	const char *const *unit = units[p->torch->short_units];
	int64_t size = bytes < 0 ? -bytes : bytes;
	char text[CELL];

	if (size >= 1 << 30)
		snprintf(text, sizeof text, "%.2f %s", (double)bytes / (1 << 30), unit[0]);
	else if (size >= 1 << 20)
		snprintf(text, sizeof text, "%.2f %s", (double)bytes / (1 << 20), unit[1]);
	else if (size >= 1 << 10)
		snprintf(text, sizeof text, "%.2f %s", (double)bytes / (1 << 10), unit[2]);
	else
		snprintf(text, sizeof text, "%" PRId64 " %s", bytes, unit[3]);
	add_cell(p, column, text);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void add_column(struct page *p, const char **titles, const char *title, size_t width)
{
	titles[p->n_columns] = title;
	p->widths[p->n_columns++] = width;
}

static void measure(struct page *p)
{
	uint64_t least = 0;

	for (size_t i = 0; i < p->ops->n; i++) {
		const struct ops_row *r = &p->ops->v[i];
		size_t name = length(r->name) + 4, shapes = length(r->shapes) + 4;

		p->name_width = name > p->name_width ? name : p->name_width;
		p->shapes_width = shapes > p->shapes_width ? shapes : p->shapes_width;
		if (r->flops && (!least || r->flops < least))
			least = r->flops;
	}
	p->name_width = p->name_width < NAME_MOST ? p->name_width : NAME_MOST;
	p->shapes_width = p->shapes_width < SHAPES_MOST ? p->shapes_width : SHAPES_MOST;
	if (p->ops->has_flops && least) { /* the smallest row chooses the unit */
		static const char *const titles[] = { "Total FLOPs", "Total KFLOPs", "Total MFLOPs",
			"Total GFLOPs", "Total TFLOPs", "Total PFLOPs" };
		double power = fmin(log10((double)least) / 3, 5);

		p->flops_title = titles[(size_t)power];
		p->flops_scale = pow(10, floor(power) * -3.0);
	}
}

static void choose_columns(struct page *p, const char **titles)
{
	static const char *const always[] = { "Self CPU %", "Self CPU", "CPU total %", "CPU total",
		"CPU time avg" };
	static const char *const device[] = { "Self CUDA", "Self CUDA %", "CUDA total",
		"CUDA time avg" };

	add_column(p, titles, "Name", p->name_width);
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		add_column(p, titles, always[i], COLUMN);
	for (size_t i = 0; p->ops->has_device_time && i < sizeof device / sizeof *device; i++)
		add_column(p, titles, device[i], COLUMN);
	if (p->ops->has_memory) {
		add_column(p, titles, "CPU Mem", COLUMN);
		add_column(p, titles, "Self CPU Mem", COLUMN);
		if (p->ops->has_device && p->ops->has_device_memory) {
			add_column(p, titles, "CUDA Mem", COLUMN);
			add_column(p, titles, "Self CUDA Mem", COLUMN);
		}
	}
	add_column(p, titles, "# of Calls", COLUMN);
	if (p->ops->has_shapes)
		add_column(p, titles, "Input Shapes", p->shapes_width);
	if (p->flops_title)
		add_column(p, titles, p->flops_title, COLUMN);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_rule(struct page *p)
{
	for (size_t i = 0; i < p->n_columns; i++) {
		buf_fill(p->out, '-', p->widths[i]);
		buf_adds(p->out, "  ");
	}
	buf_addc(p->out, '\n');
}

static void add_name(struct page *p, size_t *column, const char *name)
{
	char cut[4 * NAME_MOST];
	size_t n = first(name, NAME_MOST - 3);

	if (length(name) < NAME_MOST - 3) {
		add_cell(p, column, name);
		return;
	}
	snprintf(cut, sizeof cut, "%.*s...", (int)n, name);
	add_cell(p, column, cut);
}

static void add_device_times(struct page *p, size_t *column, const struct ops_row *r)
{
	add_time(p, column, r->self_device_us);
	add_share(p, column, r->self_device_us, p->ops->self_device_us);
	add_time(p, column, r->device_us);
	add_time(p, column, r->device_us / (double)r->n_calls);
}

static void add_memory(struct page *p, size_t *column, const struct ops_row *r)
{
	add_bytes(p, column, r->cpu_bytes);
	add_bytes(p, column, r->self_cpu_bytes);
	if (p->ops->has_device && p->ops->has_device_memory) {
		add_bytes(p, column, r->device_bytes);
		add_bytes(p, column, r->self_device_bytes);
	}
}

static void add_row(struct page *p, const struct ops_row *r)
{
	size_t column = 0;
	char text[4 * SHAPES_MOST + 1];

	add_name(p, &column, r->name);
	add_share(p, &column, r->self_cpu_us, p->ops->self_cpu_us);
	add_time(p, &column, r->self_cpu_us);
	add_share(p, &column, r->cpu_us, p->ops->self_cpu_us);
	add_time(p, &column, r->cpu_us);
	add_time(p, &column, r->cpu_us / (double)r->n_calls);
	if (p->ops->has_device_time)
		add_device_times(p, &column, r);
	if (p->ops->has_memory)
		add_memory(p, &column, r);
	snprintf(text, sizeof text, "%" PRIu64, r->n_calls);
	add_cell(p, &column, text);
	if (p->ops->has_shapes) {
		snprintf(text, sizeof text, "%.*s", (int)first(r->shapes, p->shapes_width),
			r->shapes);
		add_cell(p, &column, text);
	}
	if (p->flops_title) {
		snprintf(text, sizeof text, "%8.3f", (double)r->flops * p->flops_scale);
		add_cell(p, &column, r->flops ? text : "--");
	}
	buf_addc(p->out, '\n');
}

static void add_head(struct page *p, const char *const *titles, bool top_level)
{
	size_t column = 0, n = 0;

	if (top_level) {
		for (size_t i = 0; i < p->n_columns; i++)
			n += p->widths[i] + 2;
		buf_fill(p->out, '=', n - 2);
		buf_adds(p->out, "\nThis report only display top-level ops statistics\n");
	}
	add_rule(p);
	while (column < p->n_columns)
		add_cell(p, &column, titles[column]);
	buf_addc(p->out, '\n');
	add_rule(p);
}

void ops_print_torch(const struct ops *ops, const struct ops_torch *torch, const struct ops_view *v,
	struct buf *out)
{
	struct page p = { .ops = ops, .torch = torch, .out = out };
	const char *titles[COLUMNS];
	char total[CELL];
	size_t n = 0;

	if (!ops->n)
		return;
	measure(&p);
	choose_columns(&p, titles);
	add_head(&p, titles, v->top_level);
	for (size_t i = 0; i < ops->n && n < v->limit; i++) {
		if (v->top_level && ops->v[i].is_nested)
			continue;
		add_row(&p, &ops->v[i]);
		n++;
	}
	add_rule(&p);
	format_time(total, ops->self_cpu_us);
	buf_printf(out, "Self CPU time total: %s\n", total);
	format_time(total, ops->self_device_us);
	if (ops->has_device_time)
		buf_printf(out, "Self CUDA time total: %s\n", total);
}
