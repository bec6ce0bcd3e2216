/* SPDX-License-Identifier: MIT
 * See code.h. */
#include "cpython/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "cpython/stack.h"
#include "cpython/strings.h"
#include "wire/name.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	LINETABLE_MOST = 4 << 20,
	UNITS_MOST = 8 << 20,
	COPIES_MOST = 4096,
};

static const char *read_text(struct arena *a, struct objects *o, uint64_t address, size_t most)
{
	struct buf text = BUF_INIT;
	const char *copy = "?";

	if (strings_read_name(o->mem, o->l, address, most, &text) == 0)
		copy = arena_strndup(a, buf_str(&text), text.n);
	buf_done(&text);
	return copy;
}

static void read_lines(struct arena *a, struct objects *o, uint64_t table, struct code *c)
{
	struct err ignored = ERR_INIT; /* what was decoded before the fault is kept */
	struct buf bytes = BUF_INIT;
	uint64_t n;

	if (object_word(o, table, o->l->bytes_size, &n) == 0 && n && n <= LINETABLE_MOST &&
		mem_read(o->mem, table + o->l->bytes_data, buf_reserve(&bytes, n), n) == 0)
		linetable_decode(a, linetable_format_for(o->l->major, o->l->minor), bytes.data, n,
			(uint32_t)c->first_line, c->n_code_bytes, &c->lines, &ignored);
	buf_done(&bytes);
}

/* How many bytes of instructions there are, and where. */
static bool find_instructions(
	struct objects *o, const unsigned char *p, uint64_t address, struct code *c)
{
	const struct py_layout *l = o->l;
	uint64_t n, bytes;

	if (l->code_n_units != PY_NONE) {
		n = u64_at(p, l->code_n_units) * 2;
		c->instructions = address + l->code_adaptive;
		c->copies = l->code_tlbc != PY_NONE ? u64_at(p, l->code_tlbc) : 0;
	} else {
		bytes = u64_at(p, l->code_code);
		if (object_word(o, bytes, l->bytes_size, &n) < 0)
			return false;
		c->instructions = bytes + l->bytes_data;
	}
	c->n_code_bytes = (uint32_t)n;
	return n > 0 && n <= UNITS_MOST * 2;
}

const struct code *code_read(struct arena *a, struct objects *o, uint64_t address)
{
	const struct py_layout *l = o->l;
	const struct object_type *t = object_type(o, address);
	unsigned char p[PY_CODE_BYTES_MAX];
	struct code *c;

	if (!t || !object_is_static(t, "code") || mem_read(o->mem, address, p, l->code_sizeof) < 0)
		return NULL;
	c = arena_new(a, struct code);
	memcpy(&c->first_line, p + l->code_firstlineno, 4);
	if (!find_instructions(o, p, address, c))
		return NULL;
	c->file = read_text(a, o, u64_at(p, l->code_filename), NAME_PATH_MOST);
	c->qualname = read_text(a, o,
		u64_at(p, l->code_qualname != PY_NONE ? l->code_qualname : l->code_name),
		NAME_CHARS_MOST);
	read_lines(a, o, u64_at(p, l->code_linetable), c);
	return c;
}

struct position code_position_at(const struct code *c, uint32_t offset)
{
	struct position at = linetable_get(&c->lines, offset);

	if (at.line < 0) {
		at = POSITION_UNKNOWN;
		at.line = c->first_line;
	}
	return at;
}

struct position code_position(struct objects *o, const struct code *c, const struct stack_frame *f)
{
	uint64_t start = c->instructions, n, offset;

	if (!f->instr)
		return code_position_at(c, f->lasti < 0 ? 0 : (uint32_t)f->lasti);
	/* An array of its size and the copies; copy 0 is the code object's own. */
	if (f->copy && c->copies && object_word(o, c->copies, 0, &n) == 0 && f->copy < n &&
		n < COPIES_MOST)
		object_word(o, c->copies + 8 + 8 * (uint64_t)f->copy, 0, &start);
	offset = f->instr - start;
	/* 3.11 and 3.12: before the first instruction there is the one "before the next". */
	if ((int64_t)offset < 0)
		offset = 0;
	return code_position_at(c, offset < c->n_code_bytes ? (uint32_t)offset : c->n_code_bytes);
}
