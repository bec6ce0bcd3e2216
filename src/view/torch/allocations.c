/* SPDX-License-Identifier: MIT
 * See allocations.h. */
#include "view/torch/allocations.h"

#include <inttypes.h>

#include "analyze/torch/allocations.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/table.h"
#include "base/banned.h"

enum { INDENT = 10, WIDEST = OP_CURVE / 2, LARGEST = 10 };

static const char *const words[OP_N_HELD] = { "from before", "activations", "gradients",
	"optimizer state", "temporary", "other" };

/* ---- devices --------------------------------------------------------------------------------- */

static void print_curve(const char *what, const double *curve, double most,
	const struct ops_view *v, struct buf *out)
{
	size_t width = v->width > INDENT + WIDEST ? WIDEST
		: v->width > INDENT + 10          ? v->width - INDENT
						  : 10;

	buf_printf(out, "%*s", -INDENT, what);
	style_begin(out, STYLE_ACCENT, v->colour);
	style_sparkline(out, curve, OP_CURVE, most, width);
	style_end(out, STYLE_ACCENT, v->colour);
	buf_addc(out, '\n');
}

/* "At the peak: 70.0 MiB from before, ≈ 2.0 MiB activations …" */
static void print_peak_parts(
	const struct op_allocator *d, const struct ops_view *v, struct buf *out)
{
	struct buf text = BUF_INIT;
	char bytes[UNITS_TEXT];

	buf_adds(&text,
		"at the peak, judged by where it was allocated and when released (estimates):");
	for (unsigned i = 0; i < OP_N_HELD; i++)
		if (d->at_peak_bytes[i])
			buf_printf(&text, "%s %s %s", text.data[text.n - 1] == ':' ? "" : ",",
				units_format(bytes, UNIT_BYTES, (double)d->at_peak_bytes[i]),
				words[i]);
	style_wrap(out, buf_str(&text), INDENT, v->width);
	buf_done(&text);
}

static void print_device(const struct op_allocations *x, const struct op_allocator *d,
	const struct ops_view *v, struct buf *out)
{
	char peak[UNITS_TEXT], at[UNITS_TEXT], first[UNITS_TEXT], last[UNITS_TEXT];
	struct buf text = BUF_INIT;
	double most = (double)(d->peak_bytes > d->peak_reserved_bytes ? d->peak_bytes
								      : d->peak_reserved_bytes);

	print_curve(d->name, d->curve, most, v, out);
	if (d->peak_reserved_bytes)
		print_curve("reserved", d->reserved, most, v, out);
	buf_printf(&text, "peak %s at %s", units_format(peak, UNIT_BYTES, (double)d->peak_bytes),
		units_format(at, UNIT_SECONDS, d->peak_s));
	if (*d->peak_operator || *d->peak_step)
		buf_printf(&text, " (%s%s%s)", d->peak_operator,
			*d->peak_operator && *d->peak_step ? ", " : "", d->peak_step);
	buf_printf(&text, "; %s at the start, %s at the end",
		units_format(first, UNIT_BYTES, (double)d->first_bytes),
		units_format(last, UNIT_BYTES, (double)d->last_bytes));
	if (d->peak_reserved_bytes)
		buf_printf(&text, "; %s reserved at most",
			units_format(peak, UNIT_BYTES, (double)d->peak_reserved_bytes));
	buf_printf(&text, "; %" PRIu64 " allocations of %s, %" PRIu64 " releases of %s",
		d->n_allocations, units_format(first, UNIT_BYTES, (double)d->allocated_bytes),
		d->n_releases, units_format(last, UNIT_BYTES, (double)d->released_bytes));
	if (d->n_failures)
		buf_printf(&text, "; memory ran out %" PRIu64 " times", d->n_failures);
	style_wrap(out, buf_str(&text), INDENT, v->width);
	if (x->has_held)
		print_peak_parts(d, v, out);
	buf_done(&text);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_operators(
	const struct op_allocations *x, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "allocated", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "times", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "released", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "times", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "operator", TABLE_LEFT, TEXT_CUT_END, 20 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);

	for (size_t i = 0; i < x->n_operators && i < v->limit; i++) {
		const struct op_allocating *r = &x->operators[i];

		table_cell_unit(table, UNIT_BYTES, (double)r->allocated_bytes);
		table_cell_unit(table, UNIT_COUNT, (double)r->n_allocations);
		table_cell_unit(table, UNIT_BYTES, (double)r->released_bytes);
		table_cell_unit(table, UNIT_COUNT, (double)r->n_releases);
		table_cell(table, "%s", r->name);
	}
	table_emit(table, out, v->width, v->colour);
	table_free(table);
	if (x->n_operators > v->limit)
		style_add(out, STYLE_DIM, v->colour, "%zu more; --limit 0 shows all\n",
			x->n_operators - v->limit);
}

static void print_largest(const struct op_allocations *x, const struct ops_view *v, struct buf *out)
{
	static const struct table_column columns[] = {
		{ "size", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "at", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "lived", TABLE_RIGHT, TEXT_CUT_END, 0 },
		{ "device", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "perhaps", TABLE_LEFT, TEXT_CUT_END, 0 },
		{ "allocated by", TABLE_LEFT, TEXT_CUT_END, 16 },
	};
	struct table *table = table_new(columns, sizeof columns / sizeof *columns);
	size_t limit = v->limit < LARGEST || v->limit == SIZE_MAX ? v->limit : LARGEST;

	for (size_t i = 0; i < x->n_largest && i < limit; i++) {
		const struct op_allocation *r = &x->largest[i];
		char lived[UNITS_TEXT];

		table_cell_unit(table, UNIT_BYTES, (double)r->bytes);
		table_cell_unit(table, UNIT_SECONDS, r->at_s);
		table_cell(table, "%s",
			units_is_known(r->lived_s) ? units_format(lived, UNIT_SECONDS, r->lived_s)
						   : "to the end");
		table_cell(table, "%s", r->device);
		table_cell(table, "%s", x->has_held ? op_held_names[r->held] : "");
		table_cell(table, "%s", r->operator_name);
	}
	buf_adds(out, "\nThe largest allocations\n");
	table_emit(table, out, v->width, v->colour);
	table_free(table);
}

void op_allocations_print(const struct op_allocations *x, const struct ops_view *v, struct buf *out)
{
	char span[UNITS_TEXT];

	style_add(out, STYLE_BOLD, v->colour, "Memory\n");
	if (!x->n_devices) {
		buf_adds(out,
			ops_absent(v,
				v->is_light
					? "no allocation was recorded; record with leadline run --torch=full to see them\n"
					: "no allocation was recorded; profile with profile_memory=True to see them\n"));
		return;
	}
	buf_printf(out, "in use during %s:\n", units_format(span, UNIT_SECONDS, x->seconds));
	for (size_t i = 0; i < x->n_devices; i++)
		print_device(x, &x->devices[i], v, out);
	buf_addc(out, '\n');
	print_operators(x, v, out);
	print_largest(x, v, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */
