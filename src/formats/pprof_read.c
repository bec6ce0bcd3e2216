/* SPDX-License-Identifier: MIT
 *
 * Reads pprof's profile.proto. Of several values the one pprof itself would show is taken (the default, else
 * the last); a value called samples says how many samples a stack stands for. Negative values (profiles that
 * were subtracted) are left out, and told. */
#include "formats/pprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/samples/stacks.h"
#include "base/budget.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "formats/codec/protobuf.h"
#include "base/banned.h"

enum { FILE_MOST = 1 << 30, INLINED_MOST = 64 };

struct text {
	const char *p;
	size_t n;
};

struct value_type {
	uint64_t type, unit; /* strings */
};

struct function {
	uint64_t name, system_name, file, first_line; /* strings, and a line */
};

struct file {
	struct foreign *to;
	struct err *e;
	const void *bytes;
	size_t n_bytes;
	VEC(struct text) strings;
	VEC(struct value_type) types;
	VEC(struct function) functions;
	VEC(struct pb_field) locations;                           /* their messages */
	VEC(uint64_t) mapping_files;                              /* strings */
	struct map function_index, location_index, mapping_index; /* by id */
	uint64_t default_type;
	size_t value, samples; /* which of a sample's values; samples SIZE_MAX: none */
	double scale;
	VEC(uint32_t) leaf_first; /* locations of the sample at hand */
	VEC(uint32_t) rows;       /* by location: its frames' rows begin in `inlined` here, + 1 */
	VEC(uint32_t) inlined;    /* rows, caller first, ended by 0 */
	struct map threads;       /* string or number of a label → row */
	uint64_t n_negative;
};

static int bad(struct file *f, const char *what)
{
	return err_set(f->e, ERR_BAD_FILE, "%s", what);
}

static struct text text_of(const struct file *f, uint64_t string)
{
	return string < f->strings.n ? f->strings.v[string] : (struct text){ "", 0 };
}

static bool is_text(const struct file *f, uint64_t string, const char *s)
{
	struct text t = text_of(f, string);

	return t.n == strlen(s) && memcmp(t.p, s, t.n) == 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Varint fields 1 … n of a small message; others are skipped. */
static bool numbers_of(const struct pb_field *m, uint64_t *to, unsigned n)
{
	struct pb at = pb_begin(m->p, m->n);

	memset(to, 0, (n + 1) * sizeof *to);
	for (struct pb_field f; pb_next(&at, &f);)
		if (f.type == PB_VARINT && f.number <= n)
			to[f.number] = f.value;
	return !at.is_bad;
}

static int take_table(struct file *f, const struct pb_field *m)
{
	uint64_t x[MAPPING_HAS_INLINES + 1];

	if (m->number == PROFILE_STRING_TABLE) {
		vec_push(&f->strings, (struct text){ (const char *)m->p, m->n });
		return 0;
	}
	if (!numbers_of(m, x, MAPPING_HAS_INLINES))
		return bad(f, "a message inside it is cut off");
	if (m->number == PROFILE_SAMPLE_TYPE) {
		vec_push(&f->types, (struct value_type){ x[VALUE_TYPE], x[VALUE_UNIT] });
	} else if (m->number == PROFILE_FUNCTION) {
		map_put(&f->function_index, x[FUNCTION_ID], f->functions.n);
		vec_push(&f->functions,
			(struct function){ x[FUNCTION_NAME], x[FUNCTION_SYSTEM_NAME],
				x[FUNCTION_FILENAME], x[FUNCTION_START_LINE] });
	} else if (m->number == PROFILE_LOCATION) {
		map_put(&f->location_index, x[LOCATION_ID], f->locations.n);
		vec_push(&f->locations, *m);
	} else if (m->number == PROFILE_MAPPING) {
		map_put(&f->mapping_index, x[MAPPING_ID], f->mapping_files.n);
		vec_push(&f->mapping_files, x[MAPPING_FILENAME]);
	}
	return 0;
}

static int read_tables(struct file *f)
{
	struct pb at = pb_begin(f->bytes, f->n_bytes);

	for (struct pb_field m; pb_next(&at, &m);) {
		if (m.type == PB_BYTES && m.number >= PROFILE_SAMPLE_TYPE &&
			m.number <= PROFILE_STRING_TABLE && m.number != PROFILE_SAMPLE &&
			take_table(f, &m) < 0)
			return -(int)f->e->code;
		if (m.type == PB_VARINT && m.number == PROFILE_DEFAULT_SAMPLE_TYPE)
			f->default_type = m.value;
	}
	return at.is_bad ? bad(f, "it is cut off, or not a profile.proto") : 0;
}

/* ---- which value ----------------------------------------------------------------------------- */

static enum foreign_unit unit_of(struct file *f, uint64_t unit)
{
	static const struct {
		const char *name;
		enum foreign_unit unit;
		double scale;
	} units[] = { { "nanoseconds", FOREIGN_NS, 1 }, { "microseconds", FOREIGN_NS, 1e3 },
		{ "milliseconds", FOREIGN_NS, 1e6 }, { "seconds", FOREIGN_NS, 1e9 },
		{ "bytes", FOREIGN_BYTES, 1 }, { "kilobytes", FOREIGN_BYTES, 1024 },
		{ "megabytes", FOREIGN_BYTES, 1 << 20 } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (is_text(f, unit, units[i].name)) {
			f->scale = units[i].scale;
			return units[i].unit;
		}
	f->scale = 1;
	return FOREIGN_COUNT;
}

static void note_others(struct file *f)
{
	struct buf note = BUF_INIT;

	for (size_t i = 0; i < f->types.n; i++)
		if (i != f->value && i != f->samples) {
			struct text t = text_of(f, f->types.v[i].type);

			buf_adds(&note, note.n ? ", " : "It also has values of ");
			buf_add(&note, t.p, t.n < 100 ? t.n : 100);
		}
	if (note.n)
		foreign_note(f->to, buf_str(&note));
	buf_done(&note);
}

static int choose_value(struct file *f)
{
	char measure[100];
	struct text name;
	enum foreign_unit unit;

	if (!f->types.n)
		return bad(f, "it names no values");
	f->value = f->types.n - 1;
	f->samples = SIZE_MAX;
	for (size_t i = f->types.n; i-- > 0;) {
		if (f->default_type && f->types.v[i].type == f->default_type)
			f->value = i;
		if (is_text(f, f->types.v[i].type, "samples") &&
			is_text(f, f->types.v[i].unit, "count"))
			f->samples = i;
	}
	name = text_of(f, f->types.v[f->value].type);
	snprintf(measure, sizeof measure, "%.*s", (int)(name.n < 99 ? name.n : 99), name.p);
	unit = unit_of(f, f->types.v[f->value].unit);
	foreign_unit(f->to, unit, f->value == f->samples ? "" : measure);
	note_others(f);
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint32_t frame_of_line(struct file *f, const struct pb_field *line)
{
	uint64_t x[LINE_LINE + 1], at;
	const struct function *function;
	struct text name, file;

	if (!numbers_of(line, x, LINE_LINE) || !map_find(&f->function_index, x[LINE_FUNCTION], &at))
		return 0;
	function = &f->functions.v[at];
	name = text_of(f, function->name);
	if (!name.n)
		name = text_of(f, function->system_name);
	file = text_of(f, function->file);
	return foreign_frame_n(f->to, name.p, name.n, file.p, file.n,
		x[LINE_LINE] <= INT32_MAX ? x[LINE_LINE] : 0,
		function->first_line <= INT32_MAX ? (uint32_t)function->first_line : 0);
}

/* A location without functions: its address is all that is known. */
static uint32_t frame_of_address(struct file *f, const struct pb_field *location)
{
	uint64_t x[LOCATION_ADDRESS + 1], at;
	struct text file = { "", 0 };
	char name[32];

	if (numbers_of(location, x, LOCATION_ADDRESS) &&
		map_find(&f->mapping_index, x[LOCATION_MAPPING], &at))
		file = text_of(f, f->mapping_files.v[at]);
	snprintf(name, sizeof name, "0x%" PRIx64, x[LOCATION_ADDRESS]);
	return foreign_frame_n(f->to, name, strlen(name), file.p, file.n, 0, 0);
}

/* Where the frames of a location begin in `inlined`, + 1. Lines stand innermost first. */
static uint32_t frames_of(struct file *f, uint64_t location)
{
	struct pb at = pb_begin(f->locations.v[location].p, f->locations.v[location].n);
	uint32_t rows[INLINED_MOST], n = 0;

	while (f->rows.n <= location)
		vec_push(&f->rows, 0);
	if (f->rows.v[location])
		return f->rows.v[location];
	for (struct pb_field x; n < INLINED_MOST && pb_next(&at, &x);)
		if (x.type == PB_BYTES && x.number == LOCATION_LINE &&
			(rows[n] = frame_of_line(f, &x)))
			n++;
	if (!n)
		rows[n++] = frame_of_address(f, &f->locations.v[location]);
	f->rows.v[location] = (uint32_t)f->inlined.n + 1;
	while (n)
		vec_push(&f->inlined, rows[--n]);
	vec_push(&f->inlined, 0);
	return f->rows.v[location];
}

static uint32_t stack_of(struct file *f)
{
	uint32_t stack = 0;

	for (size_t i = f->leaf_first.n; i-- > 0 && foreign_goes_on(f->to);)
		for (size_t k = frames_of(f, f->leaf_first.v[i]) - 1; f->inlined.v[k]; k++)
			stack = foreign_stack(f->to, stack, f->inlined.v[k]);
	return stack;
}

static int take_location(struct file *f, uint64_t id)
{
	uint64_t at;

	if (!map_find(&f->location_index, id, &at))
		return bad(f, "a sample names a location that is not there");
	if (f->leaf_first.n >= STACKS_DEPTH)
		return bad(f, "a stack is deeper than can be shown");
	vec_push(&f->leaf_first, (uint32_t)at);
	return 0;
}

static uint32_t thread_of(struct file *f, uint64_t name, uint64_t number)
{
	uint64_t key = name << 32 ^ number, row;
	struct text t = text_of(f, name);
	char text[100];

	if (map_find(&f->threads, key, &row))
		return (uint32_t)row;
	snprintf(text, sizeof text, "%.*s", (int)(t.n < 99 ? t.n : 99), t.p);
	row = foreign_thread(f->to, 0, number <= UINT32_MAX ? (uint32_t)number : 0,
		t.n || number ? text : "all threads");
	map_put(&f->threads, key, row);
	return (uint32_t)row;
}

static bool names_thread(const struct file *f, uint64_t key)
{
	return is_text(f, key, "thread") || is_text(f, key, "thread_name") ||
		is_text(f, key, "thread name");
}

static int add_sample(struct file *f, const struct pb_field *m)
{
	struct pb at = pb_begin(m->p, m->n);
	uint64_t label[LABEL_NUM_UNIT + 1], thread_name = 0, thread_id = 0, number;
	int64_t value = 0, samples = 0;
	size_t n_values = 0;

	f->leaf_first.n = 0;
	for (struct pb_field x; pb_next(&at, &x);) {
		struct pb packed = pb_begin(x.p, x.n);

		if (x.number == SAMPLE_LABEL && x.type == PB_BYTES &&
			numbers_of(&x, label, LABEL_NUM_UNIT)) {
			if (names_thread(f, label[LABEL_KEY]))
				thread_name = label[LABEL_STR];
			else if (is_text(f, label[LABEL_KEY], "thread_id"))
				thread_id = label[LABEL_NUM];
			continue;
		}
		if (x.number != SAMPLE_LOCATION && x.number != SAMPLE_VALUE)
			continue;
		while (x.type == PB_VARINT || pb_next_varint(&packed, &number)) {
			number = x.type == PB_VARINT ? x.value : number;
			if (x.number == SAMPLE_LOCATION && take_location(f, number) < 0)
				return -(int)f->e->code;
			if (x.number == SAMPLE_VALUE && n_values == f->value)
				value = (int64_t)number;
			if (x.number == SAMPLE_VALUE && n_values == f->samples)
				samples = (int64_t)number;
			n_values += x.number == SAMPLE_VALUE;
			if (x.type == PB_VARINT)
				break;
		}
		at.is_bad |= packed.is_bad;
	}
	if (at.is_bad || n_values != f->types.n)
		return bad(f, "a sample is cut off or has a different number of values");
	f->n_negative += value < 0;
	if (value > 0 && f->leaf_first.n)
		foreign_weight(f->to, thread_of(f, thread_name, thread_id), stack_of(f), 0,
			samples > 0 ? (uint64_t)samples : 0,
			foreign_value((double)value * f->scale));
	return 0;
}

static int read_samples(struct file *f)
{
	struct pb at = pb_begin(f->bytes, f->n_bytes);

	for (struct pb_field m; pb_next(&at, &m);)
		if (m.type == PB_BYTES && m.number == PROFILE_SAMPLE &&
			(add_sample(f, &m) < 0 || !foreign_goes_on(f->to)))
			return f->e->code ? -(int)f->e->code : budget_error(f->to->budget, f->e);
	if (f->n_negative)
		foreign_note(f->to, "Negative values, as of a difference, were left out");
	return 0;
}

/* It begins with a type of value, which is two small numbers. */
bool pprof_recognise(const char *head, size_t n)
{
	struct pb at = pb_begin(head, n), inner;
	struct pb_field m, x;

	if (!pb_next(&at, &m) || m.number != PROFILE_SAMPLE_TYPE || m.type != PB_BYTES || m.n > 22)
		return false;
	inner = pb_begin(m.p, m.n);
	while (pb_next(&inner, &x))
		if (x.type != PB_VARINT || x.number > VALUE_UNIT)
			return false;
	return m.n && !inner.is_bad && pb_next(&at, &m) && m.number <= 15;
}

int pprof_read(struct input *in, struct foreign *to, struct err *e)
{
	struct file f = { .to = to, .e = e };
	struct buf bytes = BUF_INIT;
	int status = input_load(in, &bytes, FILE_MOST, e);

	f.bytes = bytes.data;
	f.n_bytes = bytes.n;
	if (status == 0)
		status = read_tables(&f);
	if (status == 0)
		status = choose_value(&f);
	if (status == 0)
		status = read_samples(&f);
	vec_done(&f.strings);
	vec_done(&f.types);
	vec_done(&f.functions);
	vec_done(&f.locations);
	vec_done(&f.mapping_files);
	vec_done(&f.leaf_first);
	vec_done(&f.rows);
	vec_done(&f.inlined);
	map_done(&f.function_index);
	map_done(&f.location_index);
	map_done(&f.mapping_index);
	map_done(&f.threads);
	buf_done(&bytes);
	return status;
}
