/* SPDX-License-Identifier: MIT
 * See locals.h. */
#include "cpython/locals.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "cpython/strings.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	CODE_VARARGS = 0x4,
	CODE_VARKEYWORDS = 0x8,
	KIND_HIDDEN = 0x10, /* of a comprehension that was inlined (3.12+) */
	KIND_CELL = 0x40,
	KIND_FREE = 0x80,
	NAME_MOST = 256,
};

struct variables { /* of a code object */
	size_t n;
	uint64_t names[LOCALS_MOST]; /* str objects */
	unsigned char kinds[LOCALS_MOST];
	size_t n_arguments;
};

/* Appends a tuple's names with one kind. */
static int add_names(struct objects *o, uint64_t tuple, unsigned char kind, struct variables *v)
{
	int64_t n = object_items(o, tuple, v->names + v->n, LOCALS_MOST - v->n);

	if (n < 0)
		return (int)n;
	for (; n > 0 && v->n < LOCALS_MOST; n--)
		v->kinds[v->n++] = kind;
	return 0;
}

static int read_variables(struct objects *o, uint64_t code, struct variables *v)
{
	const struct py_layout *l = o->l;
	unsigned char head[PY_CODE_BYTES_MAX];
	int32_t flags;
	int64_t n;
	int failed;

	v->n = 0;
	failed = mem_read(o->mem, code, head, l->code_sizeof);
	if (failed)
		return failed;
	flags = i32_at(head, l->code_flags);
	n = (int64_t)i32_at(head, l->code_argcount) + i32_at(head, l->code_kwonlyargcount) +
		!!(flags & CODE_VARARGS) + !!(flags & CODE_VARKEYWORDS);
	v->n_arguments = n > 0 ? (size_t)n : 0;
	if (l->code_localsplusnames == PY_NONE) {
		failed = add_names(o, u64_at(head, l->code_varnames), 0, v);
		if (!failed)
			failed = add_names(o, u64_at(head, l->code_cellvars), KIND_CELL, v);
		return failed ? failed : add_names(o, u64_at(head, l->code_freevars), KIND_FREE, v);
	}
	failed = add_names(o, u64_at(head, l->code_localsplusnames), 0, v);
	if (failed || !v->n)
		return failed;
	return mem_read(
		o->mem, u64_at(head, l->code_localspluskinds) + l->bytes_data, v->kinds, v->n);
}

/* What a cell holds; 0 when it is empty. What is no cell (not made yet) is the value. */
static uint64_t in_cell(struct objects *o, uint64_t address)
{
	const struct object_type *t = object_type(o, address);
	uint64_t value;

	if (!t || !object_is_static(t, "cell"))
		return address;
	return object_word(o, address, o->l->cell_ref, &value) == 0 ? value : 0;
}

int locals_each(struct objects *o, uint64_t code, uint64_t frame, local_visitor *visit, void *ctx)
{
	const struct py_layout *l = o->l;
	uint64_t words[LOCALS_MOST];
	struct buf name = BUF_INIT;
	struct variables v;
	int failed = read_variables(o, code, &v);

	if (!failed && v.n)
		failed = mem_read(o->mem, frame + l->frame_localsplus, words, v.n * 8);
	for (size_t i = 0; !failed && i < v.n; i++) {
		struct local x = { .kind = v.kinds[i] & KIND_FREE ? LOCAL_FREE
				: i < v.n_arguments               ? LOCAL_ARGUMENT
								  : LOCAL_PLAIN };

		x.is_number = l->flags & PY_STACKREF_TAGGED && (words[i] & 3) == 3;
		x.number = (int64_t)words[i] >> 2;
		x.value = py_untagged(l, words[i]);
		if (v.kinds[i] & (KIND_CELL | KIND_FREE) && !x.is_number)
			x.value = in_cell(o, x.value);
		buf_clear(&name);
		if (!x.value || v.kinds[i] & KIND_HIDDEN ||
			strings_read(o->mem, l, v.names[i], NAME_MOST, &name) < 0)
			continue;
		x.name = buf_str(&name);
		visit(ctx, &x);
	}
	buf_done(&name);
	return failed;
}
