/* SPDX-License-Identifier: MIT
 * See layout.h. Every field by itself; that they fit together is proved in layout_verify.c. */
#include "cpython/layout.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cpython/layout_rows.h"
#include "cpython/mem.h"
#include "wire/session_layout.h"
#include "base/banned.h"

_Static_assert(
	sizeof(struct py_layout) <= SESSION_PY_LAYOUT_BYTES, "py_layout: room in the session");

enum field_type {
	TYPE_PTR,
	TYPE_I64,
	TYPE_U64,
	TYPE_I32,
	TYPE_U32,
	TYPE_I16,
	TYPE_U16,
	TYPE_I8,
	TYPE_U8,
	TYPE_INLINE,
	TYPE_SIZEOF,
	TYPE_BIT,
	TYPE_VALUE,
};

struct field_info {
	const char *name;
	enum field_type type;
	uint32_t from, until; /* minor versions of 3; 0: no end */
	bool only_free_threaded;
	enum layout_field sizeof_field; /* of its struct */
	size_t place;                   /* in struct py_layout */
};

#define INFO(struct_, field, type_, from_minor, until_minor, is_ft)  \
	[FIELD_##struct_##_##field] = { .name = #struct_ "." #field, \
		.type = TYPE_##type_,                                \
		.from = from_minor,                                  \
		.until = until_minor,                                \
		.only_free_threaded = is_ft,                         \
		.sizeof_field = FIELD_##struct_##_sizeof,            \
		.place = offsetof(struct py_layout, struct_##_##field) },
static const struct field_info infos[LAYOUT_FIELDS] = {
#define FIELD(s, f, type, from_major, from_minor, until_major, until_minor) \
	INFO(s, f, type, from_minor, until_minor, false)
#define FIELD_FT(s, f, type, from_major, from_minor, until_major, until_minor) \
	INFO(s, f, type, from_minor, until_minor, true)
#include "cpython/fields.def"
#undef FIELD
#undef FIELD_FT
};

static uint32_t get(const struct py_layout *l, enum layout_field field)
{
	uint32_t value;

	memcpy(&value, (const char *)l + infos[field].place, sizeof value);
	return value;
}

static void set(struct py_layout *l, enum layout_field field, uint32_t value)
{
	memcpy((char *)l + infos[field].place, &value, sizeof value);
}

static bool has_field(const struct py_layout *l, const struct field_info *info)
{
	return l->minor >= info->from && (!info->until || l->minor < info->until) &&
		(!info->only_free_threaded || l->flags & PY_FREE_THREADED);
}

/* ---- check ----------------------------------------------------------------------------------- */

static uint32_t width_of(enum field_type type)
{
	switch (type) {
	case TYPE_PTR:
	case TYPE_I64:
	case TYPE_U64:
		return 8;
	case TYPE_I32:
	case TYPE_U32:
		return 4;
	case TYPE_I16:
	case TYPE_U16:
		return 2;
	case TYPE_I8:
	case TYPE_U8:
		return 1;
	case TYPE_INLINE:
	case TYPE_SIZEOF:
	case TYPE_BIT:
	case TYPE_VALUE:
		return 0;
	}
	return 0;
}

static bool is_offset(enum field_type type)
{
	return type < TYPE_SIZEOF;
}

static uint32_t most_bytes(enum layout_field sizeof_field)
{
	switch ((int)sizeof_field) {
	case FIELD_runtime_sizeof:
	case FIELD_interp_sizeof:
		return 64 << 20;
	case FIELD_thread_sizeof:
		return PY_THREAD_BYTES_MAX;
	case FIELD_frame_sizeof:
		return PY_FRAME_BYTES_MAX;
	case FIELD_code_sizeof:
		return PY_CODE_BYTES_MAX;
	default:
		return PY_OBJECT_BYTES_MAX;
	}
}

static int check_field(const struct py_layout *l, enum layout_field field, struct err *e)
{
	const struct field_info *info = &infos[field];
	uint32_t value = get(l, field), size = get(l, info->sizeof_field);
	uint32_t width = width_of(info->type);

	if (!has_field(l, info))
		return value == PY_NONE ? 0
					: err_set(e, ERR_BAD_LAYOUT, "%s is not a field of 3.%u",
						  info->name, l->minor);
	if (value == PY_NONE)
		return err_set(e, ERR_BAD_LAYOUT, "the offset of %s is not known", info->name);
	switch (info->type) {
	case TYPE_SIZEOF:
		if (value == 0 || value % 8 || value > most_bytes(field))
			return err_set(e, ERR_BAD_LAYOUT, "%s is %u bytes", info->name, value);
		return 0;
	case TYPE_BIT:
		return value < 32 ? 0
				  : err_set(e, ERR_BAD_LAYOUT, "%s is bit %u", info->name, value);
	case TYPE_VALUE:
		return value < 256 ? 0 : err_set(e, ERR_BAD_LAYOUT, "%s is %u", info->name, value);
	case TYPE_PTR:
	case TYPE_I64:
	case TYPE_U64:
	case TYPE_I32:
	case TYPE_U32:
	case TYPE_I16:
	case TYPE_U16:
	case TYPE_I8:
	case TYPE_U8:
	case TYPE_INLINE:
		break;
	}
	if (value % (width ? width : 8))
		return err_set(e, ERR_BAD_LAYOUT, "%s at %u is not aligned", info->name, value);
	if (value > size || width > size - value)
		return err_set(e, ERR_BAD_LAYOUT, "%s at %u lies outside of its %u bytes",
			info->name, value, size);
	return 0;
}

/* Two fields of one struct at one place. */
static int check_overlap(const struct py_layout *l, struct err *e)
{
	for (int i = 0; i < LAYOUT_FIELDS; i++)
		for (int j = 0; j < i; j++)
			if (infos[i].sizeof_field == infos[j].sizeof_field &&
				is_offset(infos[i].type) && is_offset(infos[j].type) &&
				get(l, i) != PY_NONE && get(l, i) == get(l, j))
				return err_set(e, ERR_BAD_LAYOUT, "%s and %s are both at %u",
					infos[j].name, infos[i].name, get(l, i));
	return 0;
}

/* Every field by itself: there if the version has it, aligned, inside its struct, sizes bounded. */
static int layout_check(const struct py_layout *l, struct err *e)
{
	for (int i = 0; i < LAYOUT_FIELDS; i++)
		if (check_field(l, i, e) < 0)
			return -(int)e->code;
	if (check_overlap(l, e) < 0)
		return -(int)e->code;
	/* The head of a str is read up to its shorter form's text. */
	if (l->str_state + 4 > l->str_ascii_data || l->str_length + 8 > l->str_ascii_data ||
		l->str_ascii_data > l->str_compact_data)
		return err_set(e, ERR_BAD_LAYOUT, "str.state, length and data are at %u, %u, %u",
			l->str_state, l->str_length, l->str_ascii_data);
	return 0;
}

/* ---- versions -------------------------------------------------------------------------------- */

static void set_version(struct py_layout *l, uint32_t hex, bool is_free_threaded)
{
	l->major = hex >> 24;
	l->minor = hex >> 16 & 0xff;
	l->micro = hex >> 8 & 0xff;
	l->release = hex & 0xff;
	l->flags = (is_free_threaded ? PY_FREE_THREADED : 0u) |
		(l->minor < 11 ? PY_HEAP_FRAMES : 0u) | (l->minor == 10 ? PY_LASTI_DOUBLED : 0u) |
		(l->minor == 11 || l->minor == 12 ? PY_PREV_INSTR : 0u) |
		(l->minor >= 14 ? PY_STACKREF_TAGGED : 0u);
}

/* The row that stands for a version; refuses, in words, what there is none for. */
static const struct layout_row *find_row(uint32_t hex, bool is_free_threaded, struct err *e)
{
	struct py_layout version = { 0 };
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < n_layout_rows; i++)
		if (hex >= layout_rows[i].lo && hex < layout_rows[i].hi &&
			layout_rows[i].is_free_threaded == is_free_threaded)
			return &layout_rows[i];
	set_version(&version, hex, is_free_threaded);
	layout_format_version(&version, &text);
	if (version.major == 3 && version.minor >= LAYOUT_FIRST_MINOR &&
		version.minor <= LAYOUT_LAST_MINOR && (version.release & 0xf0) != 0xf0)
		err_set(e, ERR_UNSUPPORTED,
			"CPython %s is a pre-release, whose layout may be its own", buf_str(&text));
	else
		err_set(e, ERR_UNSUPPORTED, "CPython %s is not one of 3.%d to 3.%d", buf_str(&text),
			LAYOUT_FIRST_MINOR, LAYOUT_LAST_MINOR);
	buf_done(&text);
	return NULL;
}

int layout_from_version(struct py_layout *ret, uint32_t version_hex, struct err *e)
{
	const struct layout_row *row = find_row(version_hex, false, e);
	struct py_layout l = { 0 };

	if (!row)
		return -(int)e->code;
	if (row->published_bytes)
		return err_set(e, ERR_BAD_LAYOUT,
			"CPython 3.%u says its offsets itself, but _PyRuntime does not start so",
			version_hex >> 16 & 0xff);
	/* These lie before fields of ours, in the runtime and in the interpreter. */
	if (sizeof(pthread_mutex_t) != 40 || sizeof(pthread_cond_t) != 48)
		return err_set(e, ERR_UNSUPPORTED,
			"the offsets of CPython %s are not known for this machine", row->made_from);
	set_version(&l, version_hex, false);
	for (int i = 0; i < LAYOUT_FIELDS; i++)
		set(&l, i, layout_row_offset(row, i));
	if (layout_check(&l, e) < 0)
		return -(int)e->code;
	*ret = l;
	return 0;
}

/* ---- _Py_DebugOffsets ------------------------------------------------------------------------ */

static const char cookie[] = "xdebugpy"; /* without the NUL */
enum { COOKIE_BYTES = 8, PUBLISHED_HEAD_BYTES = 24, PUBLISHED_MAX_BYTES = 4096 };

int layout_is_published(const struct mem *m, uint64_t runtime)
{
	char found[COOKIE_BYTES];
	int failed = mem_read(m, runtime, found, sizeof found);

	return failed ? failed : memcmp(found, cookie, COOKIE_BYTES) == 0;
}

/* What the interpreter says of one field. */
static int take_published(struct py_layout *l, enum layout_field field, uint32_t place,
	const unsigned char *said, struct err *e)
{
	uint32_t less = place >> 16;
	uint64_t value = u64_at(said, place & 0xffff) - (less ? u64_at(said, less) : 0);

	if (value >= PY_NONE)
		return err_set(e, ERR_BAD_LAYOUT, "it says that %s is at 0x%llx", infos[field].name,
			(unsigned long long)value);
	set(l, field, (uint32_t)value);
	return 0;
}

/* Whether the table's row has every published offset of this struct where the interpreter has it. */
static bool row_agrees(
	const struct py_layout *l, const struct layout_row *row, enum layout_field sizeof_field)
{
	for (int i = 0; i < LAYOUT_FIELDS; i++)
		if (infos[i].sizeof_field == sizeof_field && infos[i].type != TYPE_SIZEOF &&
			layout_row_published(row, i) && get(l, i) != layout_row_offset(row, i))
			return false;
	return true;
}

static int fill_from(
	struct py_layout *l, const struct layout_row *row, const unsigned char *said, struct err *e)
{
	for (int i = 0; i < LAYOUT_FIELDS; i++) {
		uint32_t place = layout_row_published(row, i);

		set(l, i, PY_NONE);
		if (place && take_published(l, i, place, said, e) < 0)
			return -(int)e->code;
	}
	for (int i = 0; i < LAYOUT_FIELDS; i++)
		if (layout_row_published(row, i) && check_field(l, i, e) < 0)
			return -(int)e->code;
	for (int i = 0; i < LAYOUT_FIELDS; i++)
		if (!layout_row_published(row, i) && has_field(l, &infos[i])) {
			if (!row_agrees(l, row, infos[i].sizeof_field))
				return err_set(e, ERR_BAD_LAYOUT,
					"%s is not published, and the struct is not that of %s",
					infos[i].name, row->made_from);
			set(l, i, layout_row_offset(row, i));
		}
	return 0;
}

static int read_failed(int failed, uint64_t address, const char *what, struct err *e)
{
	errno = -failed;
	return err_errno(
		e, ERR_BAD_LAYOUT, "cannot read %s at 0x%llx", what, (unsigned long long)address);
}

int layout_from_debug_offsets(
	struct py_layout *ret, const struct mem *m, uint64_t runtime, struct err *e)
{
	unsigned char said[PUBLISHED_MAX_BYTES];
	const struct layout_row *row;
	struct py_layout l = { 0 };
	uint64_t version, is_free_threaded;
	int failed = mem_read(m, runtime, said, PUBLISHED_HEAD_BYTES);

	if (failed)
		return read_failed(failed, runtime, "_PyRuntime", e);
	version = u64_at(said, 8);
	is_free_threaded = u64_at(said, 16);
	if (memcmp(said, cookie, COOKIE_BYTES) != 0 || version > UINT32_MAX || is_free_threaded > 1)
		return err_set(e, ERR_BAD_LAYOUT,
			"_PyRuntime at 0x%llx does not start with offsets: 0x%llx, version 0x%llx",
			(unsigned long long)runtime, (unsigned long long)u64_at(said, 0),
			(unsigned long long)version);
	row = find_row((uint32_t)version, is_free_threaded, e);
	if (!row)
		return -(int)e->code;
	if (!row->published_bytes || row->published_bytes > sizeof said)
		return err_set(
			e, ERR_BAD_LAYOUT, "CPython %s has no offsets of its own", row->made_from);
	failed = mem_read(m, runtime, said, row->published_bytes);
	if (failed)
		return read_failed(failed, runtime, "_Py_DebugOffsets", e);
	set_version(&l, (uint32_t)version, is_free_threaded);
	if (fill_from(&l, row, said, e) < 0 || layout_check(&l, e) < 0)
		return -(int)e->code;
	*ret = l;
	return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

void layout_format_version(const struct py_layout *l, struct buf *out)
{
	static const struct {
		uint32_t level;
		const char *word;
	} levels[] = { { 0xa, "a" }, { 0xb, "b" }, { 0xc, "rc" } };

	buf_printf(out, "%u.%u.%u", l->major, l->minor, l->micro);
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if (l->release >> 4 == levels[i].level)
			buf_printf(out, "%s%u", levels[i].word, l->release & 15);
	if (l->flags & PY_FREE_THREADED)
		buf_adds(out, " free-threaded");
}

void layout_format(const struct py_layout *l, struct buf *out)
{
	for (int i = 0; i < LAYOUT_FIELDS; i++)
		if (get(l, i) != PY_NONE)
			buf_printf(out, "%s = %u\n", infos[i].name, get(l, i));
}
