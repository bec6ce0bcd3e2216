/* SPDX-License-Identifier: MIT
 * See bytecode.h. */
#include "collect/samples/bytecode.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "cpython/strings.h"
#include "cpython/value.h"
#include "cpython/walk.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	CODE_BYTES_MOST = 1 << 17, /* longer code is left alone */
	TABLE_BYTES_MOST = 1 << 17,
	LOCALS_MOST = 4096,
	WORDS_MOST = 512, /* of a list */
	FORMS_BYTES_MOST = 1 << 16,
};

static const struct value_limits word_limits = {
	.bytes = 100, .chars = 80, .items = 8, .depth = 2
};

/* Items of a tuple; -1 when it makes no sense. */
static int64_t tuple_length(const struct py_layout *l, const struct mem *m, uint64_t tuple)
{
	uint64_t n;

	return mem_read_u64(m, tuple + l->tuple_size, &n) == 0 && n <= LOCALS_MOST ? (int64_t)n
										   : -1;
}

/* Locals, cells and free variables lie before the value stack. */
static int64_t count_locals(const struct py_layout *l, const struct mem *m, const unsigned char *p)
{
	int64_t cells, frees, n;

	if (l->code_nlocalsplus != PY_NONE) {
		n = i32_at(p, l->code_nlocalsplus);
	} else {
		cells = tuple_length(l, m, u64_at(p, l->code_cellvars));
		frees = tuple_length(l, m, u64_at(p, l->code_freevars));
		n = cells < 0 || frees < 0 ? -1 : i32_at(p, l->code_nlocals) + cells + frees;
	}
	return n <= LOCALS_MOST ? n : -1;
}

static void read_table(
	struct py_bytecode *b, const struct py_layout *l, const struct mem *m, uint64_t bytes)
{
	uint64_t n;
	void *table;

	if (mem_read_u64(m, bytes + l->bytes_size, &n) < 0 || !n || n > TABLE_BYTES_MOST)
		return;
	table = arena_alloc(&b->arena, n);
	if (mem_read(m, bytes + l->bytes_data, table, n) < 0)
		return;
	b->table = table;
	b->n_table_bytes = (uint32_t)n;
}

static bool read_bytecode(struct py_bytecode *b, const struct py_layout *l, const struct mem *m,
	uint64_t code, const struct walk_code *walk)
{
	unsigned char head[PY_CODE_BYTES_MAX];
	int64_t n_locals;
	uint8_t *bytes;

	if (walk->n_code_bytes > CODE_BYTES_MOST || l->code_sizeof > sizeof head ||
		mem_read(m, code, head, l->code_sizeof) < 0)
		return false;
	n_locals = count_locals(l, m, head);
	if (n_locals < 0)
		return false;
	b->stack_at = l->frame_localsplus + 8 * (uint32_t)n_locals;
	bytes = arena_alloc(&b->arena, walk->n_code_bytes);
	if (mem_read(m, walk->code_address, bytes, walk->n_code_bytes) < 0 ||
		!bytecode_despecialise(b->opcodes, bytes, walk->n_code_bytes))
		return false;
	b->bytes = bytes;
	b->n_bytes = walk->n_code_bytes;
	if (l->code_exceptiontable != PY_NONE)
		read_table(b, l, m, u64_at(head, l->code_exceptiontable));
	bytecode_decode(
		&b->arena, b->opcodes, b->bytes, b->n_bytes, b->table, b->n_table_bytes, &b->code);
	return true;
}

struct py_bytecode *py_bytecode_new(const struct py_layout *l, const struct mem *m,
	const struct opcodes *o, uint64_t code, const struct walk_code *walk)
{
	struct py_bytecode *b = xcalloc(1, sizeof *b);

	b->opcodes = o;
	if (read_bytecode(b, l, m, code, walk))
		return b;
	py_bytecode_free(b);
	return NULL;
}

void py_bytecode_free(struct py_bytecode *b)
{
	if (!b)
		return;
	buf_done(&b->words);
	buf_done(&b->forms);
	arena_done(&b->arena);
	free(b);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Texts as they are, everything else as repr() prints it. */
static void add_word(struct objects *o, uint64_t address, bool is_name, struct buf *out)
{
	size_t before = out->n;

	if (is_name)
		strings_read(o->mem, o->l, address, word_limits.chars, out);
	else
		value_format(o, address, &word_limits, out);
	for (size_t i = before; i < out->n; i++)
		if ((unsigned char)out->data[i] < ' ')
			out->data[i] = ' ';
	buf_addc(out, '\0');
}

static void add_words(struct objects *o, uint64_t tuple, bool are_names, struct buf *out)
{
	uint64_t items[WORDS_MOST];
	int64_t n = object_items(o, tuple, items, WORDS_MOST);

	for (int64_t i = 0; i < n && i < WORDS_MOST; i++)
		add_word(o, items[i], are_names, out);
}

void py_bytecode_read_words(
	struct py_bytecode *b, const struct py_layout *l, const struct mem *m, uint64_t code)
{
	bool has_frees = l->code_localsplusnames == PY_NONE;
	unsigned char p[PY_CODE_BYTES_MAX];
	struct objects o;

	if (mem_read(m, code, p, l->code_sizeof) < 0)
		return;
	objects_init(&o, m, l);
	buf_clear(&b->words);
	add_words(&o, u64_at(p, l->code_consts), false, &b->words);
	buf_addc(&b->words, 1);
	add_words(&o, u64_at(p, l->code_names), true, &b->words);
	buf_addc(&b->words, 1);
	add_words(&o, u64_at(p, has_frees ? l->code_varnames : l->code_localsplusnames), true,
		&b->words);
	buf_addc(&b->words, 1);
	if (has_frees) {
		add_words(&o, u64_at(p, l->code_cellvars), true, &b->words);
		add_words(&o, u64_at(p, l->code_freevars), true, &b->words);
	}
	buf_addc(&b->words, 1);
	objects_done(&o);
}

/* ---- specialised forms ------------------------------------------------------------------------ */

bool py_bytecode_read_forms(
	struct py_bytecode *b, const struct mem *m, const struct walk_code *walk)
{
	struct buf now = BUF_INIT;
	uint8_t *bytes;
	bool is_new;

	if (b->n_bytes > FORMS_BYTES_MOST || b->n_bytes != walk->n_code_bytes)
		return false;
	bytes = xmalloc(b->n_bytes);
	if (mem_read(m, walk->code_address, bytes, b->n_bytes) == 0)
		for (size_t i = 0; i < b->code.n; i++) {
			uint32_t at = b->code.v[i].offset;

			/* What is no form of the instruction that was compiled there was overwritten meanwhile. */
			if (bytes[at] == b->bytes[at] ||
				b->opcodes->base[bytes[at]] != b->bytes[at])
				continue;
			buf_addc(&now, (char)(at / 2 & 255));
			buf_addc(&now, (char)(at / 2 >> 8));
			buf_addc(&now, (char)bytes[at]);
		}
	free(bytes);
	is_new = now.n != b->forms.n || (now.n && memcmp(now.data, b->forms.data, now.n) != 0);
	buf_done(&b->forms);
	b->forms = now;
	return is_new;
}
