/* SPDX-License-Identifier: MIT
 *
 * Line tables: from an instruction of a code object to its place in the source, as the interpreter
 * that compiled it says. A table is decoded once into a flat array, one entry per code unit
 * (2 bytes of bytecode, caches included), so that each look-up afterwards is one load.
 *
 *	struct arena a = ARENA_INIT;
 *	struct linetable t;
 *
 *	n_broken += linetable_decode(&a, format, bytes, n, first_line, n_code_bytes, &t, &e) < 0;
 *	... linetable_get(&t, offset_bytes).line           (t is filled in any case)
 *
 * The bytes (Objects/lnotab_notes.txt up to 3.10 and Objects/locations.md or InternalDocs of 3.11
 * and later in CPython's sources):
 *
 *	LNOTAB     pairs (u8 Δaddress, s8 Δline). An address belongs to the line that holds after
 *	           all pairs up to and including that address; the last line lasts until the end
 *	           of the code. What lies behind the end describes code that was optimised away.
 *	310        pairs (u8 Δaddress, s8 Δline), each for [address, address + Δaddress) with Δline
 *	           already added. −128: the range has no line, and the running line stays.
 *	LOCATIONS  entries that start with 1cccclll: form c, for l + 1 code units. No other byte
 *	           has its highest bit set.
 *	             0 … 9    the same line; 0hhhwwww: column 8c + h, end column = column + w
 *	             10 … 12  Δline = c − 10; two bytes: column, end column
 *	             13       signed Δline; no columns
 *	             14       signed Δline, Δ to the end line, column + 1, end column + 1
 *	             15       no place at all, and the running line stays
 *	           Numbers: 6 bits a byte, lowest first, bit 6 = more; signed: bit 0 is the sign.
 *
 * Addresses are bytes, 0 at the first instruction; 3.10's f_lasti counts code units instead.
 */
#ifndef CPYTHON_LINETABLE_H
#define CPYTHON_LINETABLE_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;

enum linetable_format {
	LINETABLE_UNKNOWN,   /* of an interpreter whose tables we do not know */
	LINETABLE_LNOTAB,    /* co_lnotab of 3.8 and 3.9 */
	LINETABLE_310,       /* co_linetable of 3.10 */
	LINETABLE_LOCATIONS, /* co_linetable of 3.11 and later */
};

/* Code behind this many units (8 MiB of bytecode) has no lines: 64 MiB are spent at most. */
enum { LINETABLE_MAX_UNITS = 4 << 20 };

/* −1 = unknown, or there is none. Lines count from 1; 0 is the line before a module's first.
 * Columns are offsets in the line's UTF-8 bytes; end_column is the one behind the last. */
struct position {
	int32_t line, end_line;     /* LNOTAB and 310 know no end_line */
	int32_t column, end_column; /* LOCATIONS only, and not with -X no_debug_ranges */
};

#define POSITION_UNKNOWN ((struct position){ -1, -1, -1, -1 })

struct linetable {
	uint32_t n_units;          /* less than the code has where the table is too short for it */
	const struct position *at; /* [n_units], in the arena */
};

enum linetable_format linetable_format_for(unsigned major, unsigned minor);

/* Decodes a table. Any bytes will do: what cannot be read leaves every position from there on
 * unknown, keeps those before, and is told (BAD_FILE, naming the offset in the table). *ret is set
 * in any case. `table` is not kept; NULL when n_bytes is 0. Memory: at most 16 bytes per code unit,
 * per code unit that the table can reach (310, LOCATIONS) and as LINETABLE_MAX_UNITS says. */
int linetable_decode(struct arena *a, enum linetable_format format, const void *table,
	size_t n_bytes, uint32_t first_line, uint32_t n_code_bytes, struct linetable *ret,
	struct err *e);

/* Where the instruction at that offset comes from; POSITION_UNKNOWN behind the end. */
static inline struct position linetable_get(const struct linetable *t, uint32_t offset_bytes)
{
	return offset_bytes / 2 < t->n_units ? t->at[offset_bytes / 2] : POSITION_UNKNOWN;
}

#endif
