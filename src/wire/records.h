/* SPDX-License-Identifier: MIT
 *
 * The records of records.def as C: `struct rec_sample`, RECORD_sample, and a description of every
 * column for code that handles all kinds alike (the codec, the merge of tables, the docs check).
 */
#ifndef WIRE_RECORDS_H
#define WIRE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

typedef uint8_t rec_u8;
typedef uint16_t rec_u16;
typedef uint32_t rec_u32;
typedef uint64_t rec_u64;
typedef double rec_f64;
typedef struct {
	const void *p; /* borrowed */
	uint32_t n;    /* bytes */
} rec_bytes;

#define RECORD_UNKNOWN UINT64_MAX

enum record_kind {
	RECORD_none,
#define RECORD(id, name, role) RECORD_##name = id,
#define COL(type, name, encoding, refers_to, key)
#define END_RECORD(name)
#define RESERVED(id, name) RECORD_##name = id,
#include "wire/records.def"
#undef RECORD
#undef COL
#undef END_RECORD
#undef RESERVED
	RECORD_MAX_ = 256
};

/* clang-format off */
#define RECORD(id, name, role) struct rec_##name {
#define COL(type, name, encoding, refers_to, key) rec_##type name;
#define END_RECORD(name) };
#define RESERVED(id, name)
/* clang-format on */
#include "wire/records.def"
#undef RECORD
#undef COL
#undef END_RECORD
#undef RESERVED

enum record_role { RECORD_TABLE, RECORD_DATA };
enum column_type { COLUMN_u8, COLUMN_u16, COLUMN_u32, COLUMN_u64, COLUMN_f64, COLUMN_bytes };
enum column_encoding {
	ENCODING_PLAIN,
	ENCODING_DELTA,
	ENCODING_TIME,
	ENCODING_RAW,
	ENCODING_BYTES
};

struct record_column {
	const char *name;
	enum column_type type;
	enum column_encoding encoding;
	enum record_kind refers_to; /* RECORD_none, or the table it is a row number of */
	int is_key;
	size_t offset; /* of the field in the struct */
};

struct record_type {
	enum record_kind kind;
	const char *name;
	enum record_role role;
	size_t size; /* of the struct, bytes */
	const struct record_column *columns;
	size_t n_columns;
};

/* The description of a kind, or NULL for numbers that no record has (unknown or reserved). */
const struct record_type *record_type_find(unsigned kind);

/* ---- values of the small columns; append only ------------------------------------------------ */
enum frame_tag { FRAME_PY, FRAME_NATIVE, FRAME_KERNEL, FRAME_OP, FRAME_SYNTH, FRAME_FOREIGN };
enum life_event {
	LIFE_START,  /* forked, or first seen; the first such record of a file is of the program
			itself; value 1: it ran before the recording, counters start at the first look */
	LIFE_EXEC,   /* runs another program: command; value: its rank + 1, 0 without one */
	LIFE_PYTHON, /* value 1: maps a CPython runtime that has a GIL, 0: does not */
};
enum end_source {
	END_REAPED,    /* wait4: exact, with waited-for children */
	END_LAST_SEEN, /* the last look at /proc before it vanished: a lower bound */
	END_RUNNING,   /* still running when the recording ended */
};
enum thread_mark_event { MARK_CAME = 1, MARK_GONE = 2 };
enum tristate { TRISTATE_UNKNOWN, TRISTATE_NO, TRISTATE_YES };
enum memory_event { MEMORY_ALLOC, MEMORY_FREE, MEMORY_RESIZE };
enum source_state {
	SOURCE_AS_RUN,    /* older than the process that ran it */
	SOURCE_CHANGED,   /* written after that process had started */
	SOURCE_MISSING,   /* no such file, or not readable, when the recording ended */
	SOURCE_TOO_LARGE, /* it alone, or all together */
};
enum sample_state {
	SAMPLE_ON_CPU = 1 << 0,
	SAMPLE_HOLDS_GIL = 1 << 1,
	SAMPLE_WANTS_GIL = 1 << 2,
	SAMPLE_IN_GC = 1 << 3,
	SAMPLE_SHORTENED = 1 << 4,
	SAMPLE_CLOCKED = 1 << 5, /* on a CPU for all of its time, by the clock of the process */
};

#endif
