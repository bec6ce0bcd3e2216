/* SPDX-License-Identifier: MIT
 * Fuzz target: Python objects out of a memory. Byte 0 chooses the row of versions.c, bytes 1 and 2 where the
 * object is; the rest is the memory, at address 0x10000. Seeds are memories as object_rig.c makes them. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cpython/asyncio.h"
#include "cpython/code.h"
#include "cpython/dict.h"
#include "cpython/layout_rows.h"
#include "cpython/locals.h"
#include "cpython/mem.h"
#include "cpython/names.h"
#include "cpython/object.h"
#include "cpython/stack.h"
#include "cpython/value.h"
#include "wire/py_layout.h"

enum { BASE = 0x10000, HEAD = 3, FRAMES = 64 };

struct input {
	const uint8_t *p;
	size_t n;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int read_input(void *ctx, uint64_t address, void *to, size_t n)
{
	const struct input *in = ctx;

	if (address < BASE || address - BASE > in->n || n > in->n - (address - BASE))
		return -EFAULT;
	memcpy(to, in->p + (address - BASE), n);
	return 0;
}

static struct py_layout layout(const struct layout_row *row)
{
	struct py_layout l = { .major = 3, .minor = row->lo >> 16 & 0xff };

	l.flags = (row->is_free_threaded ? PY_FREE_THREADED : 0u) |
		(l.minor < 11 ? PY_HEAP_FRAMES : 0u) | (l.minor >= 14 ? PY_STACKREF_TAGGED : 0u);
#define FIELD(s, f, type, from_major, from_minor, until_major, until_minor) \
	l.s##_##f = layout_row_offset(row, FIELD_##s##_##f);
#define FIELD_FT FIELD
#include "cpython/fields.def"
#undef FIELD
#undef FIELD_FT
	return l;
}

static bool visit_pair(void *ctx, uint64_t key, uint64_t value)
{
	*(uint64_t *)ctx ^= key ^ value;
	return true;
}

static void visit_local(void *ctx, const struct local *l)
{
	*(uint64_t *)ctx ^= strlen(l->name) ^ l->value;
}

static void visit_name(void *ctx, uint64_t ident, const char *name)
{
	*(uint64_t *)ctx ^= ident ^ strlen(name);
}

static void read_all(struct objects *o, uint64_t at)
{
	struct arena a = ARENA_INIT;
	struct asyncio asyncio = { .o = o };
	struct asyncio_tasks tasks;
	struct stack_frame frames[FRAMES];
	struct buf text = BUF_INIT;
	uint64_t sum = 0;
	size_t n;

	value_format(o, at, &value_limits_usual, &text);
	if (!text.n || text.n > value_limits_usual.bytes + 3)
		abort();
	attribute_each(o, at, visit_pair, &sum);
	names_each(o, at, visit_name, &sum);
	locals_each(o, at, at, visit_local, &sum);
	stack_read(o, at, frames, FRAMES, &n);
	if (code_read(&a, o, at) && n)
		code_position(o, code_read(&a, o, at), &frames[0]);
	asyncio_name(&asyncio, at, &text);
	asyncio_read(&asyncio, &a, at, &at, 1, &tasks);
	buf_done(&text);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct input in;
	struct mem mem = { .read = read_input, .ctx = &in };
	struct py_layout l;
	struct objects o;

	if (n < HEAD)
		return 0;
	l = layout(&layout_rows[data[0] % n_layout_rows]);
	in = (struct input){ data + HEAD, n - HEAD };
	objects_init(&o, &mem, &l);
	read_all(&o, BASE + ((uint64_t)data[1] | (uint64_t)data[2] << 8));
	objects_done(&o);
	return 0;
}
