/* SPDX-License-Identifier: MIT
 *
 * The table behind layout.h, generated into versions.c: one row per interpreter build whose headers
 * were read, with the offset of every field of fields.def. Private to layout*.c and versions.c. */
#ifndef CPYTHON_LAYOUT_ROWS_H
#define CPYTHON_LAYOUT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/py_layout.h"

enum layout_field {
#define FIELD(struct_, field, type, from_major, from_minor, until_major, until_minor) \
	FIELD_##struct_##_##field,
#define FIELD_FT FIELD
#include "cpython/fields.def"
#undef FIELD
#undef FIELD_FT
	LAYOUT_FIELDS
};

struct layout_row {
	const char *made_from; /* "3.11.7": the build whose headers these are */
	uint32_t lo, hi; /* stands for PY_VERSION_HEX in [lo, hi): the final releases of a minor */
	uint32_t published_bytes; /* of its _Py_DebugOffsets; 0 before 3.13 */
	bool is_free_threaded;
};

extern const struct layout_row layout_rows[];
extern const size_t n_layout_rows;

/* What the headers say: an offset (see the types of fields.def), or PY_NONE. */
uint32_t layout_row_offset(const struct layout_row *row, enum layout_field field);

/* Where in _Py_DebugOffsets the interpreter says it itself, 0 if nowhere. Bits 0 … 15 are the place
 * of the number; bits 16 … 31, if not 0, that of a number to subtract from it. */
uint32_t layout_row_published(const struct layout_row *row, enum layout_field field);

#endif
