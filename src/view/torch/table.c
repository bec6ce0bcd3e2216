/* SPDX-License-Identifier: MIT
 * See ops.h: our own table. Columns that would be empty are left out. */
#include "view/torch/table.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "base/banned.h"

struct field {
	const char *title;
	enum unit unit;
	double (*value)(const struct ops *ops, const struct ops_row *r);
	bool (*is_there)(const struct ops *ops);
	unsigned gives_way; /* on a narrow terminal: 1 is the first to be left out; 0: stays */
};

#define VALUE(name, expression)                                            \
	static double name(const struct ops *ops, const struct ops_row *r) \
	{                                                                  \
		(void)ops;                                                 \
		return (double)(expression);                               \
	}
VALUE(share, ops->self_cpu_us > 0 ? r->self_cpu_us / ops->self_cpu_us : UNITS_UNKNOWN)
VALUE(self_cpu, r->self_cpu_us / 1e6)
VALUE(total_cpu, r->cpu_us / 1e6)
VALUE(median, r->median_us / 1e6)
VALUE(p99, r->p99_us / 1e6)
VALUE(longest, r->max_us / 1e6)
VALUE(self_device, r->self_device_us / 1e6)
VALUE(total_device, r->device_us / 1e6)
VALUE(launches, r->n_launches)
VALUE(self_memory, r->self_cpu_bytes)
VALUE(self_device_memory, r->self_device_bytes)
VALUE(calls, r->n_calls)
VALUE(flops, r->flops ? (double)r->flops : UNITS_UNKNOWN)

static bool always(const struct ops *ops)
{
	(void)ops;
	return true;
}

static bool on_device(const struct ops *ops)
{
	return ops->has_device_time;
}

static bool with_memory(const struct ops *ops)
{
	return ops->has_memory;
}

static bool with_device_memory(const struct ops *ops)
{
	return ops->has_memory && ops->has_device;
}

static bool with_flops(const struct ops *ops)
{
	for (size_t i = 0; i < ops->n; i++)
		if (ops->v[i].flops)
			return true;
	return false;
}

static const struct field fields[] = {
	{ "self", UNIT_SECONDS, self_cpu, always, 0 },
	{ "%", UNIT_SHARE, share, always, 0 },
	{ "total", UNIT_SECONDS, total_cpu, always, 0 },
	{ "calls", UNIT_COUNT, calls, always, 0 },
	{ "median", UNIT_SECONDS, median, always, 5 },
	{ "p99", UNIT_SECONDS, p99, always, 1 },
	{ "max", UNIT_SECONDS, longest, always, 2 },
	{ "self GPU", UNIT_SECONDS, self_device, on_device, 0 },
	{ "total GPU", UNIT_SECONDS, total_device, on_device, 6 },
	{ "launches", UNIT_COUNT, launches, on_device, 4 },
	{ "memory", UNIT_BYTES, self_memory, with_memory, 8 },
	{ "GPU memory", UNIT_BYTES, self_device_memory, with_device_memory, 7 },
	{ "FLOPs", UNIT_COUNT, flops, with_flops, 3 },
};

enum { FIELDS = sizeof fields / sizeof *fields };

struct text_field {
	const char *title;
	enum text_cut cut;
	unsigned min_width;
	const char *(*value)(const struct ops_row *r);
	bool (*is_there)(const struct ops *ops);
};

#define TEXT(field)                                       \
	static const char *field(const struct ops_row *r) \
	{                                                 \
		return r->field;                          \
	}
TEXT(name)
TEXT(shapes)
TEXT(stack)
TEXT(module)
TEXT(source)

/* "train.py(12): step", "train.py(12): step (62 % of it, 3 places)", "3 places". */
static const char *add_places(struct arena *a, const struct ops_row *r)
{
	char share[UNITS_TEXT];

	if (r->n_places < 2)
		return r->source;
	if (!*r->source)
		return arena_printf(a, "%zu places", r->n_places);
	if (r->source_share > 0.995)
		return arena_printf(a, "%s (%zu places)", r->source, r->n_places);
	return arena_printf(a, "%s (%s of it, %zu places)", r->source,
		units_format(share, UNIT_SHARE, r->source_share), r->n_places);
}

static bool with_shapes(const struct ops *ops)
{
	return ops->has_shapes;
}

static bool with_stack(const struct ops *ops)
{
	return ops->has_stack;
}

static bool with_module(const struct ops *ops)
{
	return ops->has_module && !ops->has_stack;
}

static bool with_source(const struct ops *ops)
{
	return ops->has_source && !ops->has_stack;
}

static const struct text_field texts[] = {
	{ "operator", TEXT_CUT_END, 24, name, always },
	{ "shapes", TEXT_CUT_END, 16, shapes, with_shapes },
	{ "called from", TEXT_CUT_END, 24, stack, with_stack },
	{ "module", TEXT_CUT_END, 8, module, with_module },
	{ "called from", TEXT_CUT_START, 16, source, with_source },
};

enum { TEXTS = sizeof texts / sizeof *texts, TABLE_GAP = 2, NUMBER_WIDTH = 9, GIVES_WAY_LAST = 8 };

/* Which columns of numbers are shown; the others would not fit. Returns how many were left out. */
static size_t choose(const struct ops *ops, size_t width, bool shown[FIELDS])
{
	size_t needed = 0, n = 0;

	for (size_t i = 0; i < TEXTS; i++)
		needed += texts[i].is_there(ops) ? texts[i].min_width + TABLE_GAP : 0;
	for (size_t i = 0; i < FIELDS; i++) {
		shown[i] = fields[i].is_there(ops);
		needed += shown[i] ? NUMBER_WIDTH : 0;
	}
	for (unsigned turn = 1; needed > width && turn <= GIVES_WAY_LAST; turn++)
		for (size_t i = 0; i < FIELDS; i++)
			if (shown[i] && fields[i].gives_way == turn) {
				shown[i] = false;
				needed -= NUMBER_WIDTH;
				n++;
			}
	return n;
}

/* In very narrow terminals the places go first, then numbers from the right; the first number and the name stay. */
static struct table *new_table(const struct ops *ops, const bool shown[FIELDS])
{
	struct table_column columns[FIELDS + 5] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < FIELDS; i++)
		if (shown[i]) {
			columns[n] = (struct table_column){ .title = fields[i].title,
				.align = TABLE_RIGHT,
				.gives_way = n ? (unsigned)(TEXTS + FIELDS - i) : 0 };
			n++;
		}
	for (size_t i = 0; i < TEXTS; i++)
		if (texts[i].is_there(ops))
			columns[n++] = (struct table_column){ .title = texts[i].title,
				.cut = texts[i].cut,
				.min_width = texts[i].min_width,
				.gives_way = i ? (unsigned)(TEXTS - i) : 0 };
	return table_new(columns, n);
}

/* Below an operator's row: what its places have of it, in the same columns as far as it is known. */
static void add_place(const struct ops *ops, const bool shown[FIELDS], const struct ops_place *x,
	struct table *table)
{
	const struct ops_row r = { .self_cpu_us = x->self_cpu_us,
		.cpu_us = x->cpu_us,
		.n_calls = x->n_calls,
		.self_device_us = x->self_device_us };

	for (size_t k = 0; k < FIELDS; k++) {
		if (!shown[k])
			continue;
		if (fields[k].value == share || fields[k].value == self_cpu ||
			fields[k].value == total_cpu || fields[k].value == calls ||
			fields[k].value == self_device)
			table_cell_unit(table, fields[k].unit, fields[k].value(ops, &r));
		else
			table_cell(table, "%s", "");
	}
	for (size_t k = 0; k < TEXTS; k++)
		if (texts[k].is_there(ops))
			table_cell(table, "%s",
				texts[k].value == name ? x->is_backward ? "  backward of" : "  from"
					: texts[k].value == module ? x->module
					: texts[k].value != source ? ""
					: *x->source               ? x->source
								   : "(not known)");
}

static void add_row(const struct ops *ops, const bool shown[FIELDS], const struct ops_row *r,
	struct arena *a, struct table *table)
{
	for (size_t k = 0; k < FIELDS; k++)
		if (shown[k])
			table_cell_unit(table, fields[k].unit, fields[k].value(ops, r));
	for (size_t k = 0; k < TEXTS; k++)
		if (texts[k].is_there(ops))
			table_cell(table, "%s",
				texts[k].value == source ? add_places(a, r) : texts[k].value(r));
}

/* Rows that are long because others had the CPU. */
static const double WAITED_LEAST = 0.5; /* of the longest call */

static void print_waited(const struct ops *ops, const struct ops_view *v, struct buf *out)
{
	enum { ROWS = 3 };
	size_t n = 0;

	for (size_t i = 0; i < ops->n && i < v->limit && n < ROWS; i++) {
		const struct ops_row *r = &ops->v[i];
		char waited[UNITS_TEXT], longest[UNITS_TEXT];
		struct buf text = BUF_INIT;

		if (r->waited_us <= 0 || r->waited_us < WAITED_LEAST * r->max_us)
			continue;
		n++;
		text_add_printable(&text, r->name, strlen(r->name));
		buf_printf(&text,
			" is not that slow: it waited at least %s for a busy CPU (its longest call took %s).",
			units_format(waited, UNIT_SECONDS, r->waited_us / 1e6),
			units_format(longest, UNIT_SECONDS, r->max_us / 1e6));
		style_wrap(out, buf_str(&text), 0, v->width);
		buf_done(&text);
	}
}

/* Why --places changes nothing. */
static const char *why_not_split(const struct ops *ops)
{
	return with_source(ops)
		? "nothing to split: each of these is called from one line of one module\n"
		: "nothing to split: the file has no lines of Python; leadline run --torch records them, and torch.profiler with with_stack=True\n";
}

void ops_print(const struct ops *ops, const struct ops_view *v, const char *what, struct buf *out)
{
	bool shown[FIELDS];
	size_t n = 0, left = 0, n_merged = 0, hidden = choose(ops, v->width, shown);
	struct table *table = new_table(ops, shown);
	struct arena a = ARENA_INIT;

	style_add(out, STYLE_BOLD, v->colour, "Operators");
	buf_printf(out, "%s%s\n", what ? " of " : "", what ? what : "");
	for (size_t i = 0; i < ops->n; i++) {
		const struct ops_row *r = &ops->v[i];

		if (v->top_level && r->is_nested)
			continue;
		if (n >= v->limit) {
			left++;
			continue;
		}
		n++;
		add_row(ops, shown, r, &a, table);
		for (size_t k = 0; k < r->n_places && v->places && r->n_places > 1; k++)
			add_place(ops, shown, &r->places[k], table);
		n_merged += r->n_places > 1;
	}
	if (n)
		table_emit(table, out, v->width, v->colour);
	else
		buf_adds(out,
			ops_absent(v,
				"no operator was recorded, only what ran on the device or in Python\n"));
	table_free(table);
	arena_done(&a);
	if (left)
		style_add(out, STYLE_DIM, v->colour, "%zu more; --limit 0 shows all\n", left);
	if (n_merged && !v->places && what && with_source(ops))
		style_add(out, STYLE_DIM, v->colour,
			"--places splits rows that are called from several lines or modules\n");
	if (v->places && !n_merged && n)
		style_add(out, STYLE_DIM, v->colour, "%s", why_not_split(ops));
	print_waited(ops, v, out);
	if (hidden && n)
		style_add(out, STYLE_DIM, v->colour,
			"%zu column%s did not fit: a wider terminal or --json has %s\n", hidden,
			hidden == 1 ? "" : "s", hidden == 1 ? "it" : "them");
}

const char *ops_absent(const struct ops_view *v, const char *reason)
{
	return v->is_partial ? "none of this could be read; part of the file is lost\n" : reason;
}

/* torch writes this in place of any name that is not printable ASCII, and leaves line breaks out of the others. */
static size_t count_unnamed(const struct op_events *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->v.n; i++)
		n += x->v.v[i].category == OP_ANNOTATION &&
			strcmp(op_events_name(x, x->v.v[i].name), "unknown") == 0;
	return n;
}

void ops_print_losses(const struct op_events *x, struct buf *out)
{
	size_t n_unnamed = count_unnamed(x);

	if (*x->damage)
		buf_printf(out, "%s\n", x->damage);
	if (x->is_cut)
		buf_adds(out,
			"the file ends before its events do: what follows covers only the part that is there\n");
	if (x->n_lost)
		buf_printf(out, "%" PRIu64 " event%s could not be read and %s not counted\n",
			x->n_lost, x->n_lost == 1 ? "" : "s", x->n_lost == 1 ? "is" : "are");
	if (n_unnamed)
		buf_printf(out,
			"%zu region%s called \"unknown\": torch.profiler writes that instead of names with other than printable ASCII characters\n",
			n_unnamed, n_unnamed == 1 ? " is" : "s are");
	if (x->n_repaired)
		buf_printf(out, "%" PRIu64 " event%s no valid JSON and %s repaired\n",
			x->n_repaired, x->n_repaired == 1 ? " was" : "s were",
			x->n_repaired == 1 ? "was" : "were");
}
