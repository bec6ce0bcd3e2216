/* SPDX-License-Identifier: MIT
 * See op_overview.h: the streams of the devices. */
#include <inttypes.h>

#include "analyze/op_streams.h"
#include "base/buf.h"
#include "base/json_write.h"
#include "base/table.h"
#include "base/units.h"
#include "view/op_overview.h"
#include "view/ops.h"
#include "view/style.h"
#include "base/banned.h"

static void print_launches(const struct op_streams *streams, struct buf *out)
{
	char delay[UNITS_TEXT], launch[UNITS_TEXT], share[UNITS_TEXT];

	if (!streams->n_launches)
		return;
	buf_printf(out,
		"%" PRIu64 " launches: the median took %s on the host, and its work began %s after "
		"it; %s launched what took less time than that\n",
		streams->n_launches, units_format(launch, UNIT_SECONDS, streams->median_launch_s),
		units_format(delay, UNIT_SECONDS, streams->median_delay_s),
		units_format(
			share, UNIT_SHARE, (double)streams->n_short / (double)streams->n_launches));
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
		buf_adds(out, "nothing ran on a device, or it was not profiled\n");
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
	print_launches(streams, out);
}

void op_streams_json(const struct op_streams *streams, struct json_writer *w)
{
	json_key(w, "streams");
	json_array_begin(w);
	for (size_t i = 0; i < streams->n; i++) {
		const struct op_stream *s = &streams->v[i];

		json_object_begin(w);
		json_kv_string(w, "device", s->device);
		json_kv_string(w, "stream", s->stream);
		json_kv_u64(w, "events", s->n_events);
		json_kv_double(w, "span_s", s->span_s);
		json_kv_double(w, "busy_s", s->busy_s);
		json_kv_double(w, "host_wait_s", s->host_wait_s);
		json_kv_double(w, "kernel_wait_s", s->kernel_wait_s);
		json_kv_double(w, "other_s", s->other_s);
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "launches");
	json_object_begin(w);
	json_kv_u64(w, "launches", streams->n_launches);
	json_kv_u64(w, "short", streams->n_short);
	json_kv_double(w, "median_launch_s", streams->median_launch_s);
	json_kv_double(w, "median_delay_s", streams->median_delay_s);
	json_object_end(w);
}
