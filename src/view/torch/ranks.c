/* SPDX-License-Identifier: MIT
 * See ranks.h. */
#include "view/torch/ranks.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/torch/ranks.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/table.h"
#include "base/banned.h"

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : UNITS_UNKNOWN;
}

static void print_ranks(const struct op_ranks *r, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "rank", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "steps", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "time", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "computes", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "both", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "communicates", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "neither", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "transfers", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "waits", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "last", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "others wait", TABLE_RIGHT, TEXT_CUT_END, 0 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = 0; i < r->v.n; i++) {
		const struct op_rank *x = &r->v.v[i];

		table_cell(table, "%" PRId64, x->rank);
		if (x->n_steps)
			table_cell(table, "%zu", x->n_steps);
		else
			table_cell(table, "–");
		table_cell_unit(table, UNIT_SECONDS, x->seconds);
		table_cell_unit(table, UNIT_SHARE, share(x->computation_s, x->seconds));
		table_cell_unit(table, UNIT_SHARE, share(x->overlap_s, x->seconds));
		table_cell_unit(table, UNIT_SHARE, share(x->communication_s, x->seconds));
		table_cell_unit(table, UNIT_SHARE, share(x->other_s, x->seconds));
		table_cell_unit(table, UNIT_SECONDS, x->transfer_s);
		table_cell_unit(table, UNIT_SECONDS, x->waiting_s);
		table_cell(table, "%" PRIu64 "/%" PRIu64, x->n_last, x->n_collectives);
		table_cell_unit(table, UNIT_SECONDS, x->caused_s);
	}
	table_emit(table, out, v->width, v->colour);
	table_free(table);
}

static void print_collectives(const struct op_ranks *r, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "collective", TABLE_LEFT, TEXT_CUT_END, 12 },
		{ "group", TABLE_LEFT, TEXT_CUT_END, 8 },
		{ "ranks", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "calls", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "bytes/call", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "time/call", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "transfer/call", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "wait/call", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "bytes/s", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "total", TABLE_RIGHT, TEXT_CUT_END, 0 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = 0; i < r->collectives.n && i < v->limit; i++) {
		const struct op_collective *c = &r->collectives.v[i];
		double calls = (double)c->calls, matched = (double)(c->n_matched * c->n_ranks);
		double bytes = c->bytes > 0 ? c->bytes / calls : UNITS_UNKNOWN;
		double transfer_s = matched > 0 ? c->transfer_s / matched : UNITS_UNKNOWN;

		table_cell(table, "%s", c->name);
		table_cell(table, "%s", *c->group ? c->group : "–");
		table_cell(table, "%" PRIu64, c->n_ranks);
		table_cell(table, "%" PRIu64, c->calls);
		table_cell_unit(table, UNIT_BYTES, bytes);
		table_cell_unit(table, UNIT_SECONDS, c->seconds / calls);
		table_cell_unit(table, UNIT_SECONDS, transfer_s);
		table_cell_unit(
			table, UNIT_SECONDS, matched > 0 ? c->waiting_s / matched : UNITS_UNKNOWN);
		table_cell_unit(
			table, UNIT_BYTES, transfer_s > 0 ? bytes / transfer_s : UNITS_UNKNOWN);
		table_cell_unit(table, UNIT_SECONDS, c->seconds);
	}
	style_add(out, STYLE_BOLD, v->colour, "\nCollectives\n");
	if (table_n_rows(table))
		table_emit(table, out, v->width, v->colour);
	else
		buf_adds(out,
			"none was found: nothing of NCCL on a device, no marks of gloo or MPI\n");
	table_free(table);
}

static void print_straggler(const struct op_ranks *r, const struct ops_view *v, struct buf *out)
{
	const struct op_rank *x = r->straggler;
	struct buf text = BUF_INIT;
	char caused[UNITS_TEXT];

	if (!x)
		return;
	units_format(caused, UNIT_SECONDS, x->caused_s / (double)(r->v.n - 1));
	buf_printf(&text,
		"The others wait for rank %" PRId64 ": it came last to %" PRIu64 " of %" PRIu64
		" collectives, which cost each of them %s.",
		x->rank, x->n_last, x->n_collectives, caused);
	buf_addc(out, '\n');
	style_wrap(out, buf_str(&text), 0, v->width);
	buf_done(&text);
}

static void print_note(const char *note, bool is_first, const struct ops_view *v, struct buf *out)
{
	if (is_first)
		buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, v->colour);
	text_add_line(out, "Note: %s.", note);
	style_end(out, STYLE_DIM, v->colour);
}

void op_ranks_print(const struct op_ranks *r, const struct ops_view *v, struct buf *out)
{
	style_add(out, STYLE_BOLD, v->colour, "Ranks");
	if (r->backend && *r->backend) {
		buf_adds(out, " (");
		text_add_printable(out, r->backend, strlen(r->backend));
		buf_addc(out, ')');
	}
	buf_addc(out, '\n');
	print_ranks(r, v, out);
	print_straggler(r, v, out);
	print_collectives(r, v, out);
	for (size_t i = 0; i < r->notes.n; i++)
		print_note(r->notes.v[i], i == 0, v, out);
}
