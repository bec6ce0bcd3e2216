/* SPDX-License-Identifier: MIT
 * See value_array.h. */
#include "cpython/value_array.h"

#include <string.h>

#include "base/buf.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	IMPL_WORDS = 64,    /* of a C++ tensor, looked through */
	INLINE_SIZES = 5,   /* more dimensions lie elsewhere */
	BEHIND_OBJECT = 15, /* words behind the back pointer: all that is needed */
};

static void add_shape(struct buf *out, const int64_t *sizes, size_t n)
{
	buf_addc(out, '(');
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%lld", i ? ", " : "", (long long)sizes[i]);
	buf_adds(out, n == 1 ? ",)" : ")");
}

static bool are_sizes(const int64_t *sizes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sizes[i] < 0)
			return false;
	return true;
}

/* ---- numpy ----------------------------------------------------------------------------------- */

/* The name without "numpy.", of the scalar type that a dtype stands for. */
static const char *numpy_dtype(struct objects *o, uint64_t descr)
{
	const struct object_type *t = object_type(o, descr), *scalar;
	uint64_t type;

	if (!t || !object_has_base(o, t, "numpy.dtype") ||
		object_word(o, descr, o->l->object_sizeof, &type) < 0)
		return NULL;
	scalar = object_type_at(o, type);
	if (!scalar)
		return NULL;
	return strncmp(scalar->name, "numpy.", 6) == 0 ? scalar->name + 6 : scalar->name;
}

static bool read_numpy_array(
	struct objects *o, uint64_t address, const struct object_type *t, struct value_array *ret)
{
	struct {
		uint64_t data;
		int32_t n_dimensions, gap;
		uint64_t dimensions, strides, base, descr;
	} array;

	if (t->basicsize < (int64_t)(o->l->object_sizeof + sizeof array) ||
		mem_read(o->mem, address + o->l->object_sizeof, &array, sizeof array) < 0 ||
		array.n_dimensions < 0 || array.n_dimensions > VALUE_ARRAY_DIMENSIONS)
		return false;
	*ret = (struct value_array){ .dtype = numpy_dtype(o, array.descr),
		.n = (size_t)array.n_dimensions };
	return ret->dtype &&
		(!ret->n || mem_read(o->mem, array.dimensions, ret->sizes, ret->n * 8) == 0) &&
		are_sizes(ret->sizes, ret->n);
}

/* numpy.int64(3): the value follows the object's head. */
static bool add_numpy_scalar(
	struct objects *o, uint64_t address, const struct object_type *t, struct buf *out)
{
	union {
		uint64_t u;
		int64_t i64;
		int32_t i32;
		int16_t i16;
		int8_t i8;
		double f64;
		float f32;
	} v = { 0 };
	const char *name = t->name + 6;
	size_t n = (size_t)t->basicsize - o->l->object_sizeof;

	if (object_is(t, TYPE_HEAPTYPE) || t->basicsize <= (int64_t)o->l->object_sizeof)
		return false;
	if (mem_read(o->mem, address + o->l->object_sizeof, &v, n < 8 ? n : 8) < 0)
		return false;
	if (strcmp(name, "float64") == 0)
		buf_printf(out, "%s(%.17g)", t->name, v.f64);
	else if (strcmp(name, "float32") == 0)
		buf_printf(out, "%s(%.9g)", t->name, (double)v.f32);
	else if (strcmp(name, "int64") == 0)
		buf_printf(out, "%s(%lld)", t->name, (long long)v.i64);
	else if (strcmp(name, "int32") == 0)
		buf_printf(out, "%s(%d)", t->name, v.i32);
	else if (strcmp(name, "int16") == 0)
		buf_printf(out, "%s(%d)", t->name, v.i16);
	else if (strcmp(name, "int8") == 0)
		buf_printf(out, "%s(%d)", t->name, v.i8);
	else if (strcmp(name, "uint64") == 0)
		buf_printf(out, "%s(%llu)", t->name, (unsigned long long)v.u);
	else
		return false;
	return true;
}

/* ---- torch ----------------------------------------------------------------------------------- */

/* The numbers of c10::ScalarType. */
static const char *const torch_dtypes[] = { "uint8", "int8", "int16", "int32", "int64", "float16",
	"float32", "float64", "complex32", "complex64", "complex128", "bool", "qint8", "quint8",
	"qint32", "bfloat16" };

/* Where in the C++ tensor the pointer back to the object is, in words; 0: nowhere. */
static size_t find_back_pointer(const uint64_t *words, size_t n, uint64_t object)
{
	for (size_t i = 1; i + BEHIND_OBJECT < n; i++)
		if (words[i] == object)
			return i;
	return 0;
}

static void add_device(struct buf *out, uint64_t word)
{
	int type = (int8_t)(word >> 16), number = (int8_t)(word >> 24);
	bool has_device = (word >> 32 & 0xff) == 1;

	if (has_device && type == 0)
		buf_adds(out, " cpu");
	else if (has_device && type == 1)
		buf_printf(out, " cuda:%d", number < 0 ? 0 : number);
}

static bool read_tensor_at(
	struct objects *o, uint64_t address, uint64_t impl, struct value_array *ret)
{
	uint64_t words[IMPL_WORDS], *behind, elements;
	size_t at;

	if (!impl || impl % 8 || mem_read(o->mem, impl, words, sizeof words) < 0)
		return false;
	at = find_back_pointer(words, IMPL_WORDS, address);
	if (!at)
		return false;
	behind = words + at + 1; /* dimensions, 5 sizes, 5 strides, offset, elements, dtype */
	*ret = (struct value_array){ .n = (size_t)behind[0], .device = behind[13] };
	if (ret->n > VALUE_ARRAY_DIMENSIONS)
		return false;
	if (ret->n <= INLINE_SIZES)
		memcpy(ret->sizes, behind + 1, ret->n * 8);
	else if (mem_read(o->mem, behind[1], ret->sizes, ret->n * 8) < 0)
		return false;
	if ((behind[13] & 0xffff) < sizeof torch_dtypes / sizeof *torch_dtypes)
		ret->dtype = torch_dtypes[behind[13] & 0xffff];
	ret->is_tensor = true;
	return are_sizes(ret->sizes, ret->n) && value_array_elements(ret, &elements) &&
		elements == behind[12];
}

/* The object holds the C++ tensor's address in its first or second word (a flag came before it). */
static bool read_tensor(struct objects *o, uint64_t address, struct value_array *ret)
{
	uint64_t words[2];

	if (mem_read(o->mem, address + o->l->object_sizeof, words, sizeof words) < 0)
		return false;
	return read_tensor_at(o, address, words[1], ret) ||
		read_tensor_at(o, address, words[0], ret);
}

/* ---- both ------------------------------------------------------------------------------------ */

bool value_array_elements(const struct value_array *a, uint64_t *ret)
{
	uint64_t product = 1;

	for (size_t i = 0; i < a->n; i++)
		if (__builtin_mul_overflow(product, (uint64_t)a->sizes[i], &product))
			return false;
	*ret = product;
	return true;
}

bool value_array_read(
	struct objects *o, uint64_t address, const struct object_type *t, struct value_array *ret)
{
	if (object_has_base(o, t, "numpy.ndarray"))
		return read_numpy_array(o, address, t, ret);
	if (object_has_base(o, t, "torch._C.TensorBase") ||
		object_has_base(o, t, "torch._C._TensorBase"))
		return read_tensor(o, address, ret);
	return false;
}

bool value_array_format(
	struct objects *o, uint64_t address, const struct object_type *t, struct buf *out)
{
	struct value_array a;

	if (strncmp(t->name, "numpy.", 6) == 0 && object_has_base(o, t, "numpy.generic"))
		return add_numpy_scalar(o, address, t, out);
	if (!value_array_read(o, address, t, &a))
		return false;
	object_type_name(o, t, out);
	if (a.dtype)
		buf_printf(out, " %s", a.dtype);
	buf_addc(out, ' ');
	add_shape(out, a.sizes, a.n);
	if (a.is_tensor)
		add_device(out, a.device);
	return true;
}
