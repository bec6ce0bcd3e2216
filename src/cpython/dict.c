/* SPDX-License-Identifier: MIT
 * See dict.h. */
#include "cpython/dict.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "cpython/strings.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	KIND_GENERAL = 0, /* entries with a hash */
	BLOCK = 128,      /* entries read at once */
	NAME_MOST = 256,  /* of a key that is looked for */
};

struct keys { /* a dictkeys, as far as it is needed */
	uint64_t entries, n_entries;
	size_t entry_words; /* 3: hash, key, value; 2: key, value */
};

static int read_keys(struct objects *o, uint64_t address, struct keys *ret)
{
	const struct py_layout *l = o->l;
	unsigned char head[PY_OBJECT_BYTES_MAX];
	uint64_t index_bytes, size, n;
	int failed;

	if (!address || address % 8)
		return -EINVAL;
	failed = mem_read(o->mem, address, head, l->dictkeys_sizeof);
	if (failed)
		return failed;
	memcpy(&n, head + l->dictkeys_nentries, 8);
	if (l->dictkeys_size != PY_NONE) {
		memcpy(&size, head + l->dictkeys_size, 8);
		index_bytes = size *
			(size <= 0xff                         ? 1
					: size <= 0xffff      ? 2
					: size <= 0xffffffffu ? 4
							      : 8);
		ret->entry_words = 3;
	} else {
		unsigned log2_size = head[l->dictkeys_log2_size];

		if (log2_size > 40 || head[l->dictkeys_log2_index_bytes] > 44)
			return -EINVAL;
		size = (uint64_t)1 << log2_size;
		index_bytes = (uint64_t)1 << head[l->dictkeys_log2_index_bytes];
		ret->entry_words = head[l->dictkeys_kind] == KIND_GENERAL ? 3 : 2;
	}
	if (n > size || n > DICT_ENTRIES_MOST || size > (uint64_t)1 << 40)
		return -EINVAL;
	ret->entries = address + l->dictkeys_indices + index_bytes;
	ret->n_entries = n;
	return 0;
}

/* `values`: 0, or the address of values apart from the keys. */
static int each_entry(
	struct objects *o, uint64_t address, uint64_t values, dict_visitor *visit, void *ctx)
{
	uint64_t block[BLOCK * 3], apart[BLOCK];
	struct keys k;
	int failed = read_keys(o, address, &k);

	for (uint64_t at = 0; !failed && at < k.n_entries; at += BLOCK) {
		size_t n = k.n_entries - at < BLOCK ? (size_t)(k.n_entries - at) : BLOCK;

		failed = mem_read(
			o->mem, k.entries + at * k.entry_words * 8, block, n * k.entry_words * 8);
		if (!failed && values)
			failed = mem_read(o->mem, values + at * 8, apart, n * 8);
		for (size_t i = 0; !failed && i < n; i++) {
			const uint64_t *entry = block + i * k.entry_words;
			uint64_t key = entry[k.entry_words - 2];
			uint64_t value = values ? apart[i] : entry[k.entry_words - 1];

			if (key && value && !visit(ctx, key, value))
				return 0;
		}
	}
	return failed;
}

static bool is_dict(struct objects *o, uint64_t dict)
{
	const struct object_type *t = object_type(o, dict);

	return t && object_is(t, TYPE_DICT_SUBCLASS);
}

int dict_each(struct objects *o, uint64_t dict, dict_visitor *visit, void *ctx)
{
	const struct py_layout *l = o->l;
	uint64_t keys, values;

	if (!is_dict(o, dict) || object_word(o, dict, l->dict_keys, &keys) < 0 ||
		object_word(o, dict, l->dict_values, &values) < 0)
		return -EINVAL;
	if (values && l->dictvalues_values != PY_NONE)
		values += l->dictvalues_values;
	return each_entry(o, keys, values, visit, ctx);
}

int64_t dict_length(struct objects *o, uint64_t dict)
{
	uint64_t n;

	if (!is_dict(o, dict) || object_word(o, dict, o->l->dict_used, &n) < 0 || n > INT32_MAX)
		return -EINVAL;
	return (int64_t)n;
}

/* ---- look-up --------------------------------------------------------------------------------- */

struct search {
	struct objects *o;
	const char *key;
	size_t n;
	struct buf text;
	uint64_t found;
};

static bool compare(void *ctx, uint64_t key, uint64_t value)
{
	struct search *s = ctx;
	uint64_t length;

	/* Most keys differ in length. */
	if (object_word(s->o, key, s->o->l->str_length, &length) < 0 || length != s->n)
		return true;
	buf_clear(&s->text);
	if (strings_read(s->o->mem, s->o->l, key, s->n, &s->text) < 0 || s->text.n != s->n ||
		memcmp(s->text.data, s->key, s->n) != 0)
		return true;
	s->found = value;
	return false;
}

static int finish(struct search *s, int failed, uint64_t *ret_value)
{
	buf_done(&s->text);
	if (s->found)
		*ret_value = s->found;
	return s->found ? 0 : failed ? failed : -ENOENT;
}

int dict_find(struct objects *o, uint64_t dict, const char *key, uint64_t *ret_value)
{
	struct search s = { .o = o, .key = key, .n = strlen(key) };

	return finish(&s, dict_each(o, dict, compare, &s), ret_value);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Where an instance with a managed dict keeps its attributes: *ret_dict, or else *ret_values. */
static int find_managed(struct objects *o, uint64_t object, const struct object_type *t,
	uint64_t *ret_dict, uint64_t *ret_values)
{
	const struct py_layout *l = o->l;
	bool is_free_threaded = l->flags & PY_FREE_THREADED;
	uint64_t dict, values = 0;
	unsigned char valid = 0;
	int failed;

	failed = object_word(o, object - (is_free_threaded ? 8 : 24), 0, &dict);
	if (failed)
		return failed;
	if (l->minor == 11) {
		failed = object_word(o, object - 32, 0, &values);
	} else if (l->minor == 12) {
		if (dict & 1) {
			values = dict + 1;
			dict = 0;
		}
	} else if (!dict && object_is(t, TYPE_INLINE_VALUES)) {
		values = object + (uint64_t)t->basicsize;
		failed = mem_read(o->mem, values + l->dictvalues_valid, &valid, 1);
		if (!valid)
			values = 0;
	}
	*ret_dict = dict;
	*ret_values = values ? values + l->dictvalues_values : 0;
	return failed;
}

int attribute_each(struct objects *o, uint64_t object, dict_visitor *visit, void *ctx)
{
	const struct object_type *t = object_type(o, object);
	uint64_t dict = 0, values = 0;
	int failed = 0;

	if (!t)
		return -EINVAL;
	if (o->l->minor >= 11 && object_is(t, TYPE_MANAGED_DICT))
		failed = find_managed(o, object, t, &dict, &values);
	else if (t->dictoffset > 0 && t->dictoffset < 1 << 20)
		failed = object_word(o, object, (uint32_t)t->dictoffset, &dict);
	if (failed)
		return failed;
	if (dict)
		return dict_each(o, dict, visit, ctx);
	return values && t->cached_keys ? each_entry(o, t->cached_keys, values, visit, ctx) : 0;
}

int attribute_find(struct objects *o, uint64_t object, const char *name, uint64_t *ret_value)
{
	struct search s = { .o = o, .key = name, .n = strlen(name) };

	return finish(&s, attribute_each(o, object, compare, &s), ret_value);
}
