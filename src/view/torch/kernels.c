/* SPDX-License-Identifier: MIT
 * See overview.h: what ran on the device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "analyze/torch/kernels.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/overview.h"
#include "view/torch/table.h"
#include "base/banned.h"

enum { DIMENSIONS = 40, WIDE = 100, WIDER = 140 };

/* Narrow terminals leave out what follows from the rest, or matters least. */
static bool has_means(const struct ops_view *v)
{
	return !v->by_launch || v->width >= WIDER;
}

static bool has_occupancy(const struct ops_view *v)
{
	return !v->by_launch || v->width >= WIDE;
}

static void print_sums(const struct op_kernels *kernels, const struct ops_view *v, struct buf *out)
{
	char time[UNITS_TEXT], share[UNITS_TEXT], blocks[UNITS_TEXT], occupancy[UNITS_TEXT];
	struct buf text = BUF_INIT;

	if (!(kernels->kernel_s > 0))
		return;
	buf_printf(&text, "kernels ran for %s, %s of it on tensor cores by their names",
		units_format(time, UNIT_SECONDS, kernels->kernel_s),
		units_format(share, UNIT_SHARE, kernels->tensor_core_s / kernels->kernel_s));
	if (units_is_known(kernels->blocks_per_sm))
		buf_printf(&text,
			"; weighted by time, %s blocks per multiprocessor and %s occupancy, as the profiler estimates",
			units_format(blocks, UNIT_RATIO, kernels->blocks_per_sm),
			units_format(occupancy, UNIT_SHARE, kernels->occupancy));
	style_wrap(out, buf_str(&text), 0, v->width);
	buf_done(&text);
}

const char *op_kernel_short_name(const char *name)
{
	static const char *const empty[] = { "void ", "at::native::", "(anonymous namespace)::" };

	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
		if (strncmp(name, empty[i], strlen(empty[i])) == 0)
			name += strlen(empty[i]);
	return name;
}

/* "128", "16×8"; what is 1 at the end is left out. */
static const char *dimensions(char to[DIMENSIONS], const uint32_t v[3])
{
	if (v[2] > 1)
		snprintf(to, DIMENSIONS, "%" PRIu32 "×%" PRIu32 "×%" PRIu32, v[0], v[1], v[2]);
	else if (v[1] > 1)
		snprintf(to, DIMENSIONS, "%" PRIu32 "×%" PRIu32, v[0], v[1]);
	else
		snprintf(to, DIMENSIONS, "%" PRIu32, v[0]);
	return to;
}

static void add_launch(struct table *table, const struct op_launch *launch)
{
	char grid[DIMENSIONS], block[DIMENSIONS];

	table_cell(table, "%s", launch ? dimensions(grid, launch->grid) : "");
	table_cell(table, "%s", launch ? dimensions(block, launch->block) : "");
	if (launch)
		table_cell(table, "%" PRIu32, launch->registers);
	else
		table_cell(table, "%s", "");
	table_cell_unit(table, UNIT_BYTES, launch ? (double)launch->shared_bytes : UNITS_UNKNOWN);
}

static void add_row(struct table *table, const struct op_kernels *all,
	const struct op_kernel_row *r, const struct ops_view *v)
{
	table_cell_unit(table, UNIT_SECONDS, r->seconds);
	if (has_means(v))
		table_cell_unit(table, UNIT_SHARE,
			all->seconds > 0 ? r->seconds / all->seconds : UNITS_UNKNOWN);
	table_cell_unit(table, UNIT_COUNT, (double)r->n_times);
	if (has_means(v))
		table_cell_unit(table, UNIT_SECONDS, r->seconds / (double)r->n_times);
	if (v->by_launch)
		add_launch(table, r->launch);
	else if (v->width >= WIDE)
		table_cell_unit(table, UNIT_SECONDS, r->max_s);
	table_cell_unit(table, UNIT_RATIO, r->blocks_per_sm);
	if (has_occupancy(v))
		table_cell_unit(table, UNIT_SHARE, r->occupancy);
	table_cell(table, "%s", r->uses_tensor_cores ? "yes" : "");
	table_cell(table, "%s", op_kernel_short_name(r->name));
	if (v->width >= WIDE)
		table_cell(table, "%s", r->owner);
}

static struct table *new_table(const struct ops_view *v)
{
	bool is_wide = v->width >= WIDE;
	const char *const titles[] = { "time", has_means(v) ? "%" : NULL, "times",
		has_means(v) ? "mean" : NULL, !v->by_launch && is_wide ? "max" : NULL,
		v->by_launch ? "grid" : NULL, v->by_launch ? "block" : NULL,
		v->by_launch ? "regs" : NULL, v->by_launch ? "shared" : NULL, "blocks/SM",
		has_occupancy(v) ? "occ." : NULL };
	struct table_column columns[sizeof titles / sizeof *titles + 3];
	size_t n = 0;

	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (titles[i])
			columns[n++] =
				(struct table_column){ .title = titles[i], .align = TABLE_RIGHT };
	columns[n++] = (struct table_column){ .title = "TC" };
	columns[n++] =
		(struct table_column){ .title = "kernel", .cut = TEXT_CUT_END, .min_width = 12 };
	if (is_wide)
		columns[n++] = (struct table_column){
			.title = "launched by", .cut = TEXT_CUT_END, .min_width = 12
		};
	return table_new(columns, n);
}

void op_kernels_print(const struct op_kernels *kernels, const struct ops_view *v, struct buf *out)
{
	struct table *table;

	style_add(out, STYLE_BOLD, v->colour, v->by_launch ? "Kernels by launch\n" : "Kernels\n");
	if (!kernels->n) {
		buf_adds(out,
			ops_absent(v, "nothing ran on a device, or the device was not profiled\n"));
		return;
	}
	table = new_table(v);
	for (size_t i = 0; i < kernels->n && i < v->limit; i++)
		add_row(table, kernels, &kernels->v[i], v);
	table_emit(table, out, v->width, v->colour);
	table_free(table);
	if (kernels->n > v->limit)
		style_add(out, STYLE_DIM, v->colour, "%zu more; --limit 0 shows all\n",
			kernels->n - v->limit);
	print_sums(kernels, v, out);
}
