/* SPDX-License-Identifier: MIT
 * See describe.h. */
#include "cpython/describe.h"

#include <string.h>

#include "base/buf.h"
#include "cpython/dict.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "cpython/strings.h"
#include "cpython/value_array.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum { UFUNC_NAME = 40, DIGIT_BITS = 30, DIGITS_MOST = 1 << 24 };

static void put(char to[DESCRIPTION_TEXT], const char *prefix, const char *text)
{
	struct buf all = BUF_INIT;

	buf_printf(&all, "%s%s%s", prefix, *prefix ? "." : "", text);
	if (all.n >= DESCRIPTION_TEXT)
		all.n = DESCRIPTION_TEXT - 1;
	memcpy(to, buf_str(&all), all.n);
	to[all.n] = '\0';
	buf_done(&all);
}

static void put_type(struct objects *o, const struct object_type *t, char to[DESCRIPTION_TEXT])
{
	struct buf name = BUF_INIT;

	object_type_name(o, t, &name);
	put(to, "", buf_str(&name));
	buf_done(&name);
}

/* A str of usual length; "" when it is none. */
static void read_str(struct objects *o, uint64_t address, char to[DESCRIPTION_TEXT])
{
	const struct object_type *t = address ? object_type(o, address) : NULL;
	struct buf text = BUF_INIT;

	to[0] = '\0';
	if (t && object_is(t, TYPE_UNICODE_SUBCLASS) &&
		strings_read(o->mem, o->l, address, DESCRIPTION_TEXT - 1, &text) == 0)
		put(to, "", buf_str(&text));
	buf_done(&text);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* len, math.sqrt, list.append (of a bound one), dict.fromkeys. */
static bool name_cfunction(struct objects *o, uint64_t address, char to[DESCRIPTION_TEXT])
{
	const struct py_layout *l = o->l;
	char name[DESCRIPTION_TEXT], module[DESCRIPTION_TEXT] = "";
	const struct object_type *t = NULL;
	uint64_t def, text, self, in;

	if (object_word(o, address, l->cfunction_ml, &def) < 0 ||
		object_word(o, def, 0, &text) < 0 || !object_c_text(o, text, name, sizeof name) ||
		object_word(o, address, l->cfunction_self, &self) < 0 ||
		object_word(o, address, l->cfunction_module, &in) < 0)
		return false;
	if (self)
		t = object_type(o, self);
	if (t && object_is(t, TYPE_TYPE_SUBCLASS))
		t = object_type_at(o, self); /* a class method */
	if (t && !object_has_base(o, t, "module"))
		put_type(o, t, module);
	else
		read_str(o, in, module);
	put(to, strcmp(module, "builtins") == 0 ? "" : module, name);
	return true;
}

static bool name_descriptor(struct objects *o, uint64_t address, char to[DESCRIPTION_TEXT])
{
	char name[DESCRIPTION_TEXT], type[DESCRIPTION_TEXT];
	const struct object_type *t;
	uint64_t of, text;

	if (object_word(o, address, o->l->descr_type, &of) < 0 ||
		object_word(o, address, o->l->descr_name, &text) < 0)
		return false;
	t = object_type_at(o, of);
	read_str(o, text, name);
	if (!t || !*name)
		return false;
	put_type(o, t, type);
	put(to, type, name);
	return true;
}

/* A C string behind a few numbers and pointers, in all of numpy's binary interfaces. */
static bool name_ufunc(struct objects *o, uint64_t address, char to[DESCRIPTION_TEXT])
{
	char name[DESCRIPTION_TEXT];
	uint64_t text;

	if (object_word(o, address + o->l->object_sizeof, UFUNC_NAME, &text) < 0 ||
		!object_c_text(o, text, name, sizeof name))
		return false;
	put(to, "numpy", name);
	return true;
}

/* What Python code wraps functions in keeps their name among its attributes. */
static bool name_attribute(struct objects *o, uint64_t address, char to[DESCRIPTION_TEXT])
{
	char name[DESCRIPTION_TEXT], module[DESCRIPTION_TEXT] = "";
	uint64_t value;

	if (attribute_find(o, address, "__qualname__", &value) < 0 &&
		attribute_find(o, address, "__name__", &value) < 0)
		return false;
	read_str(o, value, name);
	if (!*name)
		return false;
	if (attribute_find(o, address, "__module__", &value) == 0)
		read_str(o, value, module);
	put(to, module, name);
	return true;
}

static bool is_one_of(const struct object_type *t, const char *const *names)
{
	for (; *names; names++)
		if (object_is_static(t, *names))
			return true;
	return false;
}

static bool name_callable(
	struct objects *o, uint64_t address, const struct object_type *t, char to[DESCRIPTION_TEXT])
{
	static const char *const functions[] = { "builtin_function_or_method", "builtin_method",
		NULL },
				 *const descriptors[] = { "method_descriptor", "wrapper_descriptor",
					 "classmethod_descriptor", NULL };
	const struct object_type *of;
	uint64_t word;

	if (is_one_of(t, functions))
		return name_cfunction(o, address, to);
	if (is_one_of(t, descriptors))
		return name_descriptor(o, address, to);
	if (object_is_static(t, "function")) {
		if (object_word(o, address, o->l->function_qualname, &word) == 0)
			read_str(o, word, to);
		return *to;
	}
	if (object_is_static(t, "method")) {
		of = object_word(o, address, o->l->method_func, &word) == 0 ? object_type(o, word)
									    : NULL;
		return of && !object_is_static(of, "method") && name_callable(o, word, of, to);
	}
	if (object_is(t, TYPE_TYPE_SUBCLASS)) {
		of = object_type_at(o, address);
		if (of)
			put_type(o, of, to);
		return of;
	}
	if (strcmp(t->name, "numpy.ufunc") == 0)
		return name_ufunc(o, address, to);
	return name_attribute(o, address, to);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t int_bits(struct objects *o, uint64_t address)
{
	const struct py_layout *l = o->l;
	uint64_t word, n;
	uint32_t top;

	if (object_word(o, address, l->long_tag != PY_NONE ? l->long_tag : l->long_size, &word) < 0)
		return UINT64_MAX;
	if (l->long_tag != PY_NONE)
		n = (word & 3) == 1 ? 0 : word >> 3;
	else
		n = (int64_t)word < 0 ? 0 - word : word;
	if (!n)
		return 0;
	if (n > DIGITS_MOST ||
		mem_read_u32(o->mem, address + l->long_digits + 4 * (n - 1), &top) < 0 || !top ||
		top >> DIGIT_BITS)
		return UINT64_MAX;
	return DIGIT_BITS * (n - 1) + 32 - (uint32_t)__builtin_clz(top);
}

/* Where a type keeps how many items it has; PY_NONE: it keeps no such number. */
static uint32_t size_field(struct objects *o, const struct object_type *t)
{
	static const char *const sized[] = { "bytearray", "array.array", "collections.deque",
		NULL };
	const struct py_layout *l = o->l;

	if (object_is(t, TYPE_LIST_SUBCLASS))
		return l->list_size;
	if (object_is(t, TYPE_TUPLE_SUBCLASS))
		return l->tuple_size;
	if (object_is(t, TYPE_DICT_SUBCLASS))
		return l->dict_used;
	if (object_is(t, TYPE_UNICODE_SUBCLASS))
		return l->str_length;
	if (object_is(t, TYPE_BYTES_SUBCLASS))
		return l->bytes_size;
	for (const char *const *name = sized; *name; name++)
		if (object_has_base(o, t, *name))
			return l->tuple_size; /* where all objects of varying size have it */
	if (object_has_base(o, t, "set") || object_has_base(o, t, "frozenset"))
		return l->set_used;
	return PY_NONE;
}

static void describe_size(
	struct objects *o, uint64_t address, const struct object_type *t, struct description *ret)
{
	struct value_array array;
	uint32_t field;

	ret->size = UINT64_MAX;
	if (object_is(t, TYPE_LONG_SUBCLASS)) {
		ret->size = int_bits(o, address);
	} else if (value_array_read(o, address, t, &array)) {
		if (!value_array_elements(&array, &ret->size))
			ret->size = UINT64_MAX;
		put(ret->name, "", array.dtype ? array.dtype : "");
	} else {
		field = size_field(o, t);
		if (field != PY_NONE && object_word(o, address, field, &ret->size) < 0)
			ret->size = UINT64_MAX;
	}
}

/* Freed objects keep their type for a while, and have no references. */
static bool is_alive(const struct objects *o, uint64_t address)
{
	uint32_t n;

	return o->l->flags & PY_FREE_THREADED ||
		(mem_read_u32(o->mem, address + o->l->object_refcnt, &n) == 0 && n);
}

bool describe_object(struct objects *o, uint64_t address, struct description *ret)
{
	const struct object_type *t = is_alive(o, address) ? object_type(o, address) : NULL;

	*ret = (struct description){ .size = UINT64_MAX };
	if (!t)
		return false;
	put_type(o, t, ret->type);
	describe_size(o, address, t, ret);
	return true;
}

bool describe_callee(struct objects *o, uint64_t address, struct description *ret)
{
	const struct object_type *t = is_alive(o, address) ? object_type(o, address) : NULL;

	*ret = (struct description){ .size = UINT64_MAX };
	if (!t)
		return false;
	put_type(o, t, ret->type);
	return name_callable(o, address, t, ret->name);
}
