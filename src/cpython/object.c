/* SPDX-License-Identifier: MIT
 * See object.h. */
#include "cpython/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "cpython/dict.h"
#include "cpython/mem.h"
#include "cpython/strings.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	TYPES_MOST = 4096,
	BASES_MOST = 32,
	SIZE_MOST = 1 << 20, /* of an instance without its items, bytes */
	SET_TABLE_MOST = 1 << 20,
	SET_BLOCK = 256, /* entries read at once */
	ITEMS_MOST = 1 << 30,
};

void objects_init(struct objects *o, const struct mem *mem, const struct py_layout *l)
{
	*o = (struct objects){ .mem = mem, .l = l };
}

static void forget_types(struct objects *o)
{
	uint64_t key, value;

	for (size_t i = 0; map_next(&o->types, &i, &key, &value);)
		free((void *)(uintptr_t)value);
	map_clear(&o->types);
}

void objects_done(struct objects *o)
{
	forget_types(o);
	map_done(&o->types);
}

int object_word(const struct objects *o, uint64_t address, uint32_t offset, uint64_t *ret)
{
	if (!address || address % 8)
		return -EINVAL;
	return mem_read_u64(o->mem, address + offset, ret);
}

/* ---- types ----------------------------------------------------------------------------------- */

bool object_c_text(const struct objects *o, uint64_t address, char *to, size_t size)
{
	size_t n = 0, step = 16;

	/* In short pieces: the string may lie at the end of what is mapped. */
	while (n + 1 < size) {
		if (step > size - n)
			step = 1;
		if (mem_read(o->mem, address + n, to + n, step) < 0) {
			if (step == 1)
				return false;
			step = 1;
			continue;
		}
		if (memchr(to + n, '\0', step))
			break;
		n += step;
	}
	to[size - 1] = '\0';
	for (const char *c = to; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return false;
	return *to != '\0';
}

/* Whether the type's own type is a metaclass. */
static bool is_type(const struct objects *o, uint64_t metatype)
{
	uint64_t flags;

	return object_word(o, metatype, o->l->type_flags, &flags) == 0 &&
		(flags & TYPE_TYPE_SUBCLASS);
}

static bool read_type(const struct objects *o, uint64_t address, struct object_type *t)
{
	const struct py_layout *l = o->l;
	unsigned char head[PY_OBJECT_BYTES_MAX];

	if (address % 8 || mem_read(o->mem, address, head, l->type_sizeof) < 0)
		return false;
	*t = (struct object_type){ .address = address,
		.flags = u64_at(head, l->type_flags),
		.basicsize = (int64_t)u64_at(head, l->type_basicsize),
		.itemsize = (int64_t)u64_at(head, l->type_itemsize),
		.dictoffset = (int64_t)u64_at(head, l->type_dictoffset),
		.dict = u64_at(head, l->type_dict),
		.base = u64_at(head, l->type_base) };
	if (t->basicsize < (int64_t)l->object_sizeof || t->basicsize > SIZE_MOST ||
		t->itemsize < 0 || t->itemsize > SIZE_MOST ||
		!is_type(o, u64_at(head, l->object_type)) ||
		!object_c_text(o, u64_at(head, l->type_name), t->name, sizeof t->name))
		return false;
	if (object_is(t, TYPE_HEAPTYPE) &&
		object_word(o, address, l->heaptype_cached_keys, &t->cached_keys) < 0)
		return false;
	return true;
}

const struct object_type *object_type_at(struct objects *o, uint64_t type)
{
	struct object_type found, *kept = NULL;
	uint64_t value;

	if (map_find(&o->types, type, &value))
		return (const struct object_type *)(uintptr_t)value;
	if (o->types.n < TYPES_MOST) {
		if (read_type(o, type, &found)) {
			kept = xmalloc(sizeof *kept);
			*kept = found;
		}
		map_put(&o->types, type, (uintptr_t)kept);
	}
	return kept;
}

const struct object_type *object_type(struct objects *o, uint64_t address)
{
	uint64_t type;

	if (object_word(o, address, o->l->object_type, &type) < 0 || !type)
		return NULL;
	return object_type_at(o, type);
}

bool object_has_base(struct objects *o, const struct object_type *t, const char *name)
{
	for (int n = 0; t && n < BASES_MOST; n++) {
		if (strcmp(t->name, name) == 0)
			return true;
		t = t->base ? object_type_at(o, t->base) : NULL;
	}
	return false;
}

bool object_is_static(const struct object_type *t, const char *name)
{
	return !object_is(t, TYPE_HEAPTYPE) && strcmp(t->name, name) == 0;
}

void object_type_name(struct objects *o, const struct object_type *t, struct buf *out)
{
	uint64_t module;
	struct buf text = BUF_INIT;

	if (object_is(t, TYPE_HEAPTYPE) && !strchr(t->name, '.') && t->dict &&
		dict_find(o, t->dict, "__module__", &module) == 0 &&
		strings_read(o->mem, o->l, module, 200, &text) == 0 && text.n &&
		strcmp(buf_str(&text), "builtins") != 0)
		buf_printf(out, "%s.", buf_str(&text));
	buf_adds(out, t->name);
	buf_done(&text);
}

/* ---- items ----------------------------------------------------------------------------------- */

int64_t object_items(struct objects *o, uint64_t address, uint64_t *ret, size_t most)
{
	const struct py_layout *l = o->l;
	const struct object_type *t = object_type(o, address);
	bool is_tuple = t && object_is(t, TYPE_TUPLE_SUBCLASS);
	uint64_t n, items = address + l->tuple_items;
	int failed;

	if (!t || (!is_tuple && !object_is(t, TYPE_LIST_SUBCLASS)))
		return -EINVAL;
	failed = object_word(o, address, is_tuple ? l->tuple_size : l->list_size, &n);
	if (failed == 0 && !is_tuple)
		failed = object_word(o, address, l->list_items, &items);
	if (failed)
		return failed;
	if (n > ITEMS_MOST)
		return -EINVAL;
	if (n < most)
		most = n;
	if (most)
		failed = mem_read(o->mem, items, ret, most * 8);
	return failed ? failed : (int64_t)n;
}

int64_t object_set_items(struct objects *o, uint64_t address, uint64_t *ret, size_t most)
{
	const struct object_type *t = object_type(o, address);
	uint64_t table, mask, block[SET_BLOCK * 2];
	size_t n = 0;

	if (!t || t->basicsize < (int64_t)o->l->set_sizeof ||
		object_word(o, address, o->l->set_mask, &mask) < 0 ||
		object_word(o, address, o->l->set_table, &table) < 0 || mask >= SET_TABLE_MOST)
		return -EINVAL;
	for (uint64_t at = 0; at <= mask && n < most; at += SET_BLOCK) {
		size_t here = mask + 1 - at < SET_BLOCK ? (size_t)(mask + 1 - at) : SET_BLOCK;

		if (mem_read(o->mem, table + at * 16, block, here * 16) < 0)
			return -EFAULT;
		for (size_t i = 0; i < here && n < most; i++)
			/* A key that was removed is a marker with the hash -1. */
			if (block[2 * i] && block[2 * i + 1] != UINT64_MAX)
				ret[n++] = block[2 * i];
	}
	return (int64_t)n;
}

int object_int(struct objects *o, uint64_t address, int64_t *ret)
{
	const struct py_layout *l = o->l;
	const struct object_type *t = object_type(o, address);
	uint32_t digits[3] = { 0 };
	uint64_t word, n, value = 0;
	bool is_negative;
	int failed;

	if (!t || !object_is(t, TYPE_LONG_SUBCLASS))
		return -EINVAL;
	failed =
		object_word(o, address, l->long_tag != PY_NONE ? l->long_tag : l->long_size, &word);
	if (failed)
		return failed;
	if (l->long_tag != PY_NONE) {
		n = (word & 3) == 1 ? 0 : word >> 3;
		is_negative = (word & 3) == 2;
	} else {
		is_negative = (int64_t)word < 0;
		n = is_negative ? 0 - word : word;
	}
	if (n > 3)
		return -ERANGE;
	failed = n ? mem_read(o->mem, address + l->long_digits, digits, n * 4) : 0;
	if (failed)
		return failed;
	if (digits[2] > 7)
		return -ERANGE;
	value = (uint64_t)digits[2] << 60 | (uint64_t)digits[1] << 30 | digits[0];
	if (value > INT64_MAX)
		return -ERANGE;
	*ret = is_negative ? -(int64_t)value : (int64_t)value;
	return 0;
}
