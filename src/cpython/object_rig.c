/* SPDX-License-Identifier: MIT
 * See object_rig.h. */
#include "cpython/object_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static int read_image(void *ctx, uint64_t address, void *to, size_t n)
{
	struct image *m = ctx;

	if (address < IMAGE_BASE || address - IMAGE_BASE > IMAGE_BYTES ||
		n > IMAGE_BYTES - (address - IMAGE_BASE))
		return -EFAULT;
	memcpy(to, m->bytes + (address - IMAGE_BASE), n);
	return 0;
}

static void set_layout(struct py_layout *l, const struct layout_row *row)
{
	l->major = 3;
	l->minor = row->lo >> 16 & 0xff;
	l->flags = (row->is_free_threaded ? PY_FREE_THREADED : 0u) |
		(l->minor < 11 ? PY_HEAP_FRAMES : 0u) | (l->minor >= 14 ? PY_STACKREF_TAGGED : 0u);
#define FIELD(s, f, type, from_major, from_minor, until_major, until_minor) \
	l->s##_##f = layout_row_offset(row, FIELD_##s##_##f);
#define FIELD_FT FIELD
#include "cpython/fields.def"
#undef FIELD
#undef FIELD_FT
}

uint64_t image_alloc(struct image *m, size_t n)
{
	uint64_t at = m->used;

	m->used += (n + 15) / 16 * 16;
	if (m->used > IMAGE_BASE + IMAGE_BYTES)
		abort();
	return at;
}

void image_put(struct image *m, uint64_t address, const void *from, size_t n)
{
	memcpy(m->bytes + (address - IMAGE_BASE), from, n);
}

void image_put_u64(struct image *m, uint64_t address, uint64_t value)
{
	image_put(m, address, &value, 8);
}

uint64_t image_object(struct image *m, uint64_t type, size_t n)
{
	uint64_t at = image_alloc(m, n);

	image_put_u64(m, at + m->l.object_type, type);
	return at;
}

uint64_t image_type(struct image *m, const char *name, uint64_t flags, size_t basicsize)
{
	uint64_t at = image_object(m, m->type, m->l.heaptype_sizeof),
		 text = image_alloc(m, strlen(name) + 17);

	if (!m->type) { /* the type of types is its own */
		m->type = at;
		image_put_u64(m, at + m->l.object_type, at);
	}
	image_put(m, text, name, strlen(name) + 1);
	image_put_u64(m, at + m->l.type_name, text);
	image_put_u64(m, at + m->l.type_flags, flags);
	image_put_u64(m, at + m->l.type_basicsize, basicsize);
	return at;
}

void image_init(struct image *m, const struct layout_row *row)
{
	memset(m, 0, sizeof *m);
	m->used = IMAGE_BASE + 64;
	set_layout(&m->l, row);
	m->mem = (struct mem){ .read = read_image, .ctx = m };
	objects_init(&m->o, &m->mem, &m->l);
	image_type(m, "type", TYPE_TYPE_SUBCLASS, m->l.heaptype_sizeof);
	m->int_type = image_type(m, "int", TYPE_LONG_SUBCLASS, m->l.long_sizeof);
	m->str_type = image_type(m, "str", TYPE_UNICODE_SUBCLASS, m->l.str_sizeof);
	m->list_type = image_type(m, "list", TYPE_LIST_SUBCLASS, m->l.list_sizeof);
	m->tuple_type = image_type(m, "tuple", TYPE_TUPLE_SUBCLASS, m->l.tuple_sizeof);
	m->dict_type = image_type(m, "dict", TYPE_DICT_SUBCLASS, m->l.dict_sizeof);
	m->set_type = image_type(m, "set", 0, m->l.set_sizeof);
	m->float_type = image_type(m, "float", 0, m->l.float_sizeof);
	m->none_type = image_type(m, "NoneType", 0, m->l.object_sizeof);
}

void image_done(struct image *m)
{
	objects_done(&m->o);
}

uint64_t image_int(struct image *m, int64_t value)
{
	uint64_t at = image_object(m, m->int_type, m->l.long_sizeof);
	uint32_t digit = (uint32_t)(value < 0 ? -value : value);

	if (m->l.long_tag != PY_NONE)
		image_put_u64(m, at + m->l.long_tag,
			value == 0          ? 1
				: value < 0 ? 1 << 3 | 2
					    : 1 << 3);
	else
		image_put_u64(m, at + m->l.long_size,
			(uint64_t)(int64_t)(value == 0 ? 0
					: value < 0    ? -1
						       : 1));
	image_put(m, at + m->l.long_digits, &digit, 4);
	return at;
}

uint64_t image_str(struct image *m, const char *ascii)
{
	size_t n = strlen(ascii);
	uint64_t at = image_object(m, m->str_type, m->l.str_ascii_data + n + 1);
	uint32_t state = 1u << m->l.str_state_kind | 1u << m->l.str_state_compact |
		1u << m->l.str_state_ascii;

	image_put_u64(m, at + m->l.str_length, n);
	image_put(m, at + m->l.str_state, &state, 4);
	image_put(m, at + m->l.str_ascii_data, ascii, n);
	return at;
}

uint64_t image_list(struct image *m, const uint64_t *items, size_t n)
{
	uint64_t at = image_object(m, m->list_type, m->l.list_sizeof),
		 array = image_alloc(m, n * 8 + 8);

	image_put_u64(m, at + m->l.list_size, n);
	image_put_u64(m, at + m->l.list_items, array);
	image_put(m, array, items, n * 8);
	return at;
}

uint64_t image_keys(struct image *m, const uint64_t *pairs, size_t n, int only_str)
{
	const struct py_layout *l = &m->l;
	size_t words = only_str && l->dictkeys_size == PY_NONE ? 2 : 3;
	uint64_t at = image_alloc(m, l->dictkeys_sizeof + 16 + 16 * words * 8);

	if (l->dictkeys_size != PY_NONE) {
		image_put_u64(m, at + l->dictkeys_size, 16);
	} else {
		uint8_t log2 = 4, kind = only_str != 0;

		image_put(m, at + l->dictkeys_log2_size, &log2, 1);
		image_put(m, at + l->dictkeys_log2_index_bytes, &log2, 1);
		image_put(m, at + l->dictkeys_kind, &kind, 1);
	}
	image_put_u64(m, at + l->dictkeys_nentries, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t entry = at + l->dictkeys_indices + 16 + i * words * 8;

		image_put_u64(m, entry + (words - 2) * 8, pairs[2 * i]);
		image_put_u64(m, entry + (words - 1) * 8, pairs[2 * i + 1]);
	}
	return at;
}

uint64_t image_dict(struct image *m, const uint64_t *pairs, size_t n, int only_str)
{
	uint64_t at = image_object(m, m->dict_type, m->l.dict_sizeof);

	image_put_u64(m, at + m->l.dict_used, n);
	image_put_u64(m, at + m->l.dict_keys, image_keys(m, pairs, n, only_str));
	return at;
}

uint64_t image_instance(struct image *m, const char *class, const uint64_t *pairs, size_t n)
{
	const struct py_layout *l = &m->l;
	size_t size = l->object_sizeof;
	uint64_t type, at, values, names[32];

	type = image_type(m, class,
		TYPE_HEAPTYPE | (l->minor >= 11 ? TYPE_MANAGED_DICT : 0) |
			(l->minor >= 13 ? TYPE_INLINE_VALUES : 0),
		l->minor < 11 ? size + 8 : size);
	for (size_t i = 0; i < n; i++) { /* shared keys hold no values */
		names[2 * i] = pairs[2 * i];
		names[2 * i + 1] = 0;
	}
	image_put_u64(m, type + l->heaptype_cached_keys, image_keys(m, names, n, 1));
	image_alloc(m, 64); /* what lies before it */
	at = image_object(m, type, size + 256);
	if (l->minor < 11) {
		image_put_u64(m, type + l->type_dictoffset, size);
		image_put_u64(m, at + size, image_dict(m, pairs, n, 1));
		return at;
	}
	values = l->minor >= 13 ? at + size : image_alloc(m, 256);
	if (l->minor == 11)
		image_put_u64(m, at - 32, values);
	else if (l->minor == 12)
		image_put_u64(m, at - 24, values - 1);
	else
		image_put(m, values + l->dictvalues_valid, "\1", 1);
	for (size_t i = 0; i < n; i++)
		image_put_u64(m, values + l->dictvalues_values + 8 * i, pairs[2 * i + 1]);
	return at;
}
