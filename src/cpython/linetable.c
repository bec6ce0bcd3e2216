/* SPDX-License-Identifier: MIT
 * See linetable.h, which describes the bytes. The decoders share one state with a sticky `wrong`:
 * after the first fault every read gives 0 and nothing more is covered. */
#include "cpython/linetable.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/banned.h"

struct decoder {
	const uint8_t *bytes; /* the table */
	size_t n, i;          /* its length; the next byte to read */
	size_t entry;         /* where the entry being read starts */
	int64_t line;         /* running */
	uint64_t addr;        /* bytes of code described so far */
	uint64_t n_code_bytes;
	struct position *at; /* [n_units] */
	uint32_t n_units;
	uint32_t unit;     /* those before are filled */
	const char *wrong; /* NULL, or what the table cannot be read for */
};

static void fault(struct decoder *d, const char *wrong)
{
	if (!d->wrong)
		d->wrong = wrong;
}

static bool has_more(struct decoder *d)
{
	if (d->wrong)
		return false;
	d->entry = d->i;
	return d->i < d->n;
}

static uint8_t read_byte(struct decoder *d)
{
	if (d->i == d->n)
		fault(d, "it ends within an entry");
	return d->wrong ? 0 : d->bytes[d->i++];
}

static void step_line(struct decoder *d, int64_t delta)
{
	d->line += delta;
	if (d->line < INT32_MIN || d->line > INT32_MAX)
		fault(d, "the line number overflows");
}

/* Hand-made syntax trees can have negative lines; nobody can look them up. */
static int32_t line_or_none(int64_t line)
{
	return line < 0 ? -1 : (int32_t)line;
}

static struct position only_line(const struct decoder *d)
{
	return (struct position){ line_or_none(d->line), -1, -1, -1 };
}

/* The next n_bytes of code are from there. Units are filled whose first byte is in the range: the
 * older tables cut long ranges at odd addresses. */
static void cover(struct decoder *d, uint64_t n_bytes, struct position from)
{
	uint64_t end;

	if (d->wrong)
		return;
	d->addr += n_bytes;
	end = (d->addr + 1) / 2;
	while (d->unit < end && d->unit < d->n_units)
		d->at[d->unit++] = from;
}

/* ---- 3.8, 3.9 -------------------------------------------------------------------------------- */

static void decode_lnotab(struct decoder *d)
{
	while (has_more(d) && d->addr < d->n_code_bytes) {
		cover(d, read_byte(d), only_line(d));
		step_line(d, (int8_t)read_byte(d));
	}
	if (d->addr < d->n_code_bytes)
		cover(d, d->n_code_bytes - d->addr, only_line(d));
}

/* ---- 3.10 ------------------------------------------------------------------------------------ */

static void decode_310(struct decoder *d)
{
	while (has_more(d)) {
		uint8_t n_bytes = read_byte(d);
		int8_t delta = (int8_t)read_byte(d);

		if (delta == INT8_MIN) {
			cover(d, n_bytes, POSITION_UNKNOWN);
		} else {
			step_line(d, delta);
			cover(d, n_bytes, only_line(d));
		}
	}
}

/* ---- 3.11 and later -------------------------------------------------------------------------- */

/* A byte that is not the first of an entry. */
static uint8_t read_inner(struct decoder *d)
{
	uint8_t byte = read_byte(d);

	if (byte & 0x80)
		fault(d, "an entry is cut short");
	return byte;
}

static uint32_t read_varint(struct decoder *d)
{
	uint64_t v = 0;
	uint8_t byte;
	int shift = 0;

	do {
		byte = read_inner(d);
		v |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64 && shift < 36);
	if (byte & 64 || v > UINT32_MAX)
		fault(d, "a number is too large");
	return (uint32_t)v;
}

static int64_t read_signed(struct decoder *d)
{
	uint32_t v = read_varint(d);

	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* Stored plus 1, for the sake of −1. */
static int32_t read_column(struct decoder *d)
{
	uint32_t v = read_varint(d);

	if (v > INT32_MAX)
		fault(d, "a column is too large");
	return (int32_t)((int64_t)v - 1);
}

static struct position on_one_line(const struct decoder *d, int32_t column, int32_t end_column)
{
	int32_t line = line_or_none(d->line);

	return (struct position){ line, line, column, end_column };
}

static struct position read_short(struct decoder *d, unsigned form)
{
	uint8_t byte = read_inner(d);
	int32_t column = (int32_t)(form << 3 | byte >> 4);

	return on_one_line(d, column, column + (byte & 15));
}

static struct position read_one_line(struct decoder *d, unsigned delta)
{
	uint8_t column = read_inner(d), end_column = read_inner(d);

	step_line(d, delta);
	return on_one_line(d, column, end_column);
}

static struct position read_long(struct decoder *d)
{
	struct position from;
	int64_t end_line;

	step_line(d, read_signed(d));
	end_line = d->line + read_varint(d);
	if (end_line > INT32_MAX)
		fault(d, "the line number overflows");
	from.line = line_or_none(d->line);
	from.end_line = line_or_none(end_line);
	from.column = read_column(d);
	from.end_column = read_column(d);
	return from;
}

static struct position read_location(struct decoder *d, unsigned form)
{
	switch (form) {
	case 10:
	case 11:
	case 12:
		return read_one_line(d, form - 10);
	case 13:
		step_line(d, read_signed(d));
		return on_one_line(d, -1, -1);
	case 14:
		return read_long(d);
	case 15:
		return POSITION_UNKNOWN;
	default:
		return read_short(d, form);
	}
}

static void decode_locations(struct decoder *d)
{
	while (has_more(d)) {
		uint8_t head = read_byte(d);

		if (!(head & 0x80))
			fault(d, "no entry starts here");
		cover(d, 2 * (head & 7u) + 2, read_location(d, head >> 3 & 15));
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

enum linetable_format linetable_format_for(unsigned major, unsigned minor)
{
	if (major != 3 || minor < 8)
		return LINETABLE_UNKNOWN;
	if (minor < 10)
		return LINETABLE_LNOTAB;
	return minor == 10 ? LINETABLE_310 : LINETABLE_LOCATIONS;
}

/* How many units a table of that many bytes can speak of. */
static uint64_t reach(enum linetable_format format, uint64_t n_bytes)
{
	switch (format) {
	case LINETABLE_UNKNOWN:
		return 0;
	case LINETABLE_LNOTAB:
		return UINT64_MAX;
	case LINETABLE_310: /* 255 bytes by 2, rounded up */
		return n_bytes * 64;
	case LINETABLE_LOCATIONS: /* 8 units by 1 */
		return n_bytes * 8;
	}
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void decode(struct decoder *d, enum linetable_format format)
{
	step_line(d, 0);
	switch (format) {
	case LINETABLE_UNKNOWN:
		fault(d, "its format is not known");
		return;
	case LINETABLE_LNOTAB:
		decode_lnotab(d);
		break;
	case LINETABLE_310:
		decode_310(d);
		break;
	case LINETABLE_LOCATIONS:
		decode_locations(d);
		break;
	}
	if (format != LINETABLE_LNOTAB && d->addr < d->n_code_bytes)
		fault(d, "the code goes on");
	if (format != LINETABLE_LNOTAB && d->addr > d->n_code_bytes)
		fault(d, "the code ends before");
	if (d->n_code_bytes / 2 > LINETABLE_MAX_UNITS)
		fault(d, "the code is too long");
}

int linetable_decode(struct arena *a, enum linetable_format format, const void *table,
	size_t n_bytes, uint32_t first_line, uint32_t n_code_bytes, struct linetable *ret,
	struct err *e)
{
	struct decoder d = {
		.bytes = table,
		.n = n_bytes,
		.line = first_line,
		.n_code_bytes = n_code_bytes,
	};

	d.n_units = (uint32_t)least(
		least(n_code_bytes / 2, reach(format, n_bytes)), LINETABLE_MAX_UNITS);
	d.at = arena_new_n(a, struct position, d.n_units);
	memset(d.at, 0xff, d.n_units * sizeof *d.at); /* −1 everywhere */
	decode(&d, format);
	*ret = (struct linetable){ .n_units = d.n_units, .at = d.at };
	if (d.wrong)
		return err_set(e, ERR_BAD_FILE,
			"line table of %zu bytes for %u bytes of code: at byte %zu: %s", n_bytes,
			n_code_bytes, d.entry, d.wrong);
	return 0;
}
