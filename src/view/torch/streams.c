/* SPDX-License-Identifier: MIT
 * See overview.h: the streams of the devices. */
#include <inttypes.h>

#include "analyze/torch/streams.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/overview.h"
#include "view/torch/table.h"
#include "base/banned.h"

enum { CURVE = 40 };

static void print_queues(
	const struct op_streams *streams, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "device", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "stream", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "mean", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "longest", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "empty", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "over time", TABLE_LEFT, TEXT_CUT_END, 0 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = 0; i < streams->n && i < v->limit; i++) {
		const struct op_stream *s = &streams->v[i];
		struct buf curve = BUF_INIT;

		if (!units_is_known(s->mean_queue))
			continue;
		style_sparkline(&curve, s->queue, OP_CURVE, (double)s->longest_queue, CURVE);
		table_cell(table, "%s", s->device);
		table_cell(table, "%s", s->stream);
		table_cell_unit(table, UNIT_RATIO, s->mean_queue);
		table_cell_unit(table, UNIT_COUNT, (double)s->longest_queue);
		table_cell_unit(table, UNIT_SHARE, s->empty_share);
		table_cell(table, "%s", buf_str(&curve));
		buf_done(&curve);
	}
	if (table_n_rows(table)) {
		buf_adds(out,
			"\n"
			"Queues: launched but not yet started\n");
		table_emit(table, out, v->width, v->colour);
	}
	table_free(table);
}

static void add_times(struct table *table, const char *what, const double values[3], uint64_t n,
	const char *outliers)
{
	table_cell(table, "%s", what);
	for (size_t i = 0; i < 3; i++)
		table_cell_unit(table, UNIT_SECONDS, values[i]);
	table_cell(table, "%" PRIu64 " %s", n, outliers);
}

static void print_launches(const struct op_streams *s, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "median", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "p99", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "max", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 },
	};
	struct table *table;
	char share[UNITS_TEXT];

	if (!s->n_launches)
		return;
	buf_printf(out, "\n%" PRIu64 " launches; %s of them took longer than what they launched\n",
		s->n_launches,
		units_format(share, UNIT_SHARE, (double)s->n_short / (double)s->n_launches));
	table = table_new(columns, sizeof columns / sizeof *columns);
	add_times(table, "the call on the host",
		(double[]){ s->median_launch_s, s->p99_launch_s, s->max_launch_s }, s->n_slow,
		"longer than 50 µs");
	add_times(table, "from it to the start",
		(double[]){ s->median_delay_s, s->p99_delay_s, s->max_delay_s }, s->n_late,
		"longer than 100 µs");
	table_emit(table, out, v->width, v->colour);
	table_free(table);
}

static void print_slowest(const struct op_streams *s, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "call", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "at", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "operator", TABLE_LEFT, TEXT_CUT_END, 12 },
		{ "launched", TABLE_LEFT, TEXT_CUT_END, 12 },
	};
	struct table *table;

	if (!s->n_slowest)
		return;
	buf_adds(out, "\nThe slowest launches\n");
	table = table_new(columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < s->n_slowest; i++) {
		table_cell_unit(table, UNIT_SECONDS, s->slowest[i].seconds);
		table_cell_unit(table, UNIT_SECONDS, s->slowest[i].at_s);
		table_cell(table, "%s", s->slowest[i].call);
		table_cell(table, "%s", s->slowest[i].operator_name);
		table_cell(table, "%s", op_kernel_short_name(s->slowest[i].launched));
	}
	table_emit(table, out, v->width, v->colour);
	table_free(table);
}

void op_streams_print(const struct op_streams *streams, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "device", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "stream", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "events", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "span", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "busy", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "%", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "host wait", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "kernel wait", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "other", TABLE_RIGHT, TEXT_CUT_END, 0 },
	};
	struct table *table;

	style_add(out, STYLE_BOLD, v->colour, "Streams\n");
	if (!streams->n) {
		buf_adds(out,
			ops_absent(v, "nothing ran on a device, or the device was not profiled\n"));
		return;
	}
	table = table_new(columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < streams->n && i < v->limit; i++) {
		const struct op_stream *s = &streams->v[i];

		table_cell(table, "%s", s->device);
		table_cell(table, "%s", s->stream);
		table_cell_unit(table, UNIT_COUNT, (double)s->n_events);
		table_cell_unit(table, UNIT_SECONDS, s->span_s);
		table_cell_unit(table, UNIT_SECONDS, s->busy_s);
		table_cell_unit(
			table, UNIT_SHARE, s->span_s > 0 ? s->busy_s / s->span_s : UNITS_UNKNOWN);
		table_cell_unit(table, UNIT_SECONDS, s->host_wait_s);
		table_cell_unit(table, UNIT_SECONDS, s->kernel_wait_s);
		table_cell_unit(table, UNIT_SECONDS, s->other_s);
	}
	table_emit(table, out, v->width, v->colour);
	table_free(table);
	print_queues(streams, v, out);
	print_launches(streams, v, out);
	print_slowest(streams, v, out);
}
