/* SPDX-License-Identifier: MIT
 * The descriptions of records.h, made from records.def: one function per record, so that `row` can
 * name its struct where the columns take their offsets. */
#include "wire/records.h"

#define IS_KEY 1
#define IS___  0

/* clang-format off */
#define RECORD(id, name, role)                                    \
	static const struct record_type *type_##name(void)        \
	{                                                         \
		typedef struct rec_##name row;                    \
		enum { ROLE = RECORD_##role };                    \
		static const struct record_column columns[] = {
#define COL(type, name, encoding, refers_to, key) \
			{ #name, COLUMN_##type, ENCODING_##encoding, RECORD_##refers_to, IS_##key, \
				offsetof(row, name) },
#define END_RECORD(rec_name)                                      \
		};                                                \
		static const struct record_type type = {          \
			.kind = RECORD_##rec_name,                \
			.name = #rec_name,                        \
			.role = (enum record_role)ROLE,           \
			.size = sizeof(row),                      \
			.columns = columns,                       \
			.n_columns = sizeof columns / sizeof *columns, \
		};                                                \
		return &type;                                     \
	}
#define RESERVED(id, name)
#include "wire/records.def"
#undef RECORD
#undef COL
#undef END_RECORD
#undef RESERVED

const struct record_type *record_type_find(unsigned kind)
{
	switch (kind) {
#define RECORD(id, name, role) case id: return type_##name();
#define COL(type, name, encoding, refers_to, key)
#define END_RECORD(name)
#define RESERVED(id, name)
#include "wire/records.def"
#undef RECORD
#undef COL
#undef END_RECORD
#undef RESERVED
	default:
		return NULL;
	}
}
/* clang-format on */
