/* SPDX-License-Identifier: MIT
 * See code.h. The target is hostile: sizes are bounded, strings cut, pointers never trusted. */
#include "collect/samples/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/samples/bytecode.h"
#include "collect/sources.h"
#include "cpython/mem.h"
#include "cpython/opcodes.h"
#include "cpython/strings.h"
#include "store/writer.h"
#include "wire/name.h"
#include "wire/py_layout.h"
#include "wire/records.h"
#include "base/banned.h"

enum {
	HEAD_MOST = 512, /* bytes of a code object before its instructions */
	LINETABLE_MOST = 4 << 20,
	UNITS_MOST = 16 << 20,
	UNITS_READ_MOST = 1 << 18, /* of which returns are looked for */
	FRAME_MOST = 16 << 20,
	COPIES_MOST = 4096,       /* of one code's instructions: threads at once */
	COROUTINE = 0x80 | 0x100, /* of co_flags: async def, types.coroutine */
	TEXT_TRIES = 3,
	N_RECENT = 1024,
	HOT_LEAVES = 10,     /* samples that end in a code until its instructions are recorded */
	CODES_MOST = 200000, /* then all are forgotten: programs that make code all the time */
};

/* An object is checked again when it is a half older than at the last check: one that lives for
 * milliseconds (a module's, while it is imported) soon, one that proved to stay twice a second. Where one
 * was found in the place of another, two may well take turns, and a check could find the same one each time:
 * there every look checks, until this one has been there for long. */
static const uint64_t CHECK_MOST_NS = 500000000, CHECK_LEAST_NS = 2000000;
enum {
	AGE_CHECKED = 2,
	AGE_CHECKED_REUSED = 16
}; /* wait at most one of so many parts of its age */
static const uint64_t UNUSED_NS = 20000000000, SWEEP_NS = 5000000000;
static const uint64_t BYTECODE_AGAIN_NS = 1000000000; /* when it could not be read */
/* Between two looks at the specialised forms of one code, and of any. */
static const uint64_t FORMS_NS = 300000000, FORMS_PAUSE_NS = 5000000;

struct code {
	uint64_t address;
	struct walk_code walk;
	bool is_code;
	bool is_reused;                          /* others were at its address before */
	uint64_t found_ns, checked_ns, check_ns; /* first seen so; last checked; check next */
	uint64_t used_ns;                        /* asked for, at its last check or later */
	/* What must stay the same for it to be the same object. */
	uint64_t filename, name, linetable;
	uint32_t first_line;
	/* Free-threaded, from 3.14 on: where the threads' copies of its instructions lie; the first is its own. */
	uint64_t *copies; /* owned */
	size_t n_copies;
	uint64_t copies_ns; /* when they were read */
	/* What the recording says of it; read when first asked for. */
	bool is_read;
	char *file, *qualname;
	void *table;
	uint32_t n_table;
	uint32_t row, segment;
	struct py_bytecode *bytecode; /* owned; NULL: not read */
	uint64_t bytecode_ns;         /* when to try next */
	uint32_t n_leaves;            /* samples that ended in it */
	uint64_t forms_ns;            /* when to look for specialised forms next */
	uint32_t forms_segment;       /* where they were told last */
};

struct py_codes {
	const struct py_layout *l;
	const struct mem *mem;
	const char *interpreter;
	struct map index;              /* address → index */
	struct code *recent[N_RECENT]; /* by address, without a search; NULL: none */
	VEC(struct code *) codes;
	uint64_t now_ns;
	struct sources *sources; /* NULL: nobody wants files */
	unsigned source_process;
	bool knows_returns, is_return[256]; /* by opcode */
	bool knows_opcodes;
	struct opcodes opcodes;
	uint64_t forms_ns; /* when any code may be looked at next */
	uint64_t n_changes;
	uint64_t sweep_ns; /* when to look for unused ones next */
	uint64_t type;     /* address of the code type, learned from the first that verified */
};

/* Words of a frame of this code, 0 where frames are objects of their own, or -1 when the object makes no
 * sense. */
static int64_t frame_words(const struct py_layout *l, const unsigned char *p)
{
	int64_t words;

	if (l->flags & PY_HEAP_FRAMES)
		return 0;
	if (l->code_framesize != PY_NONE)
		words = i32_at(p, l->code_framesize);
	else
		words = (int64_t)i32_at(p, l->code_nlocalsplus) + i32_at(p, l->code_stacksize) +
			l->frame_localsplus / 8;
	return words * 8 >= l->frame_localsplus && words * 8 <= FRAME_MOST ? words : -1;
}

/* The instruction that begins the body (RESUME) is the first to be traced. */
static uint32_t setup_bytes(const struct py_layout *l, const unsigned char *p, uint32_t n_units)
{
	int32_t first = l->code_firsttraceable != PY_NONE ? i32_at(p, l->code_firsttraceable) : -1;

	return first >= 0 && (uint32_t)first < n_units ? 2 * (uint32_t)first : 0;
}

/* Code units, and where they are: inside the object, or (3.8 … 3.10) in a bytes object. */
static int64_t code_units(
	struct py_codes *c, const unsigned char *p, uint64_t address, uint64_t *ret_at)
{
	const struct py_layout *l = c->l;
	uint64_t bytes, n;

	if (l->code_code == PY_NONE) {
		*ret_at = address + l->code_adaptive;
		return (int64_t)u64_at(p, l->code_n_units);
	}
	bytes = u64_at(p, l->code_code);
	*ret_at = bytes + l->bytes_data;
	return mem_read_u64(c->mem, bytes + l->bytes_size, &n) < 0 ? -1 : (int64_t)(n / 2);
}

/* Fills what the walker needs. false: not a code object. */
static bool parse_head(struct py_codes *c, const unsigned char *p, struct code *x)
{
	const struct py_layout *l = c->l;
	uint64_t type = u64_at(p, l->object_type), at;
	int64_t words = frame_words(l, p), units;

	if (words < 0 || (c->type && type != c->type))
		return false;
	units = code_units(c, p, x->address, &at);
	if (units <= 0 || units > UNITS_MOST)
		return false;
	c->type = type;
	x->filename = u64_at(p, l->code_filename);
	x->name = u64_at(p, l->code_qualname != PY_NONE ? l->code_qualname : l->code_name);
	x->linetable = u64_at(p, l->code_linetable);
	x->first_line = (uint32_t)i32_at(p, l->code_firstlineno);
	x->walk = (struct walk_code){ .frame_bytes = (uint32_t)words * 8,
		.n_code_bytes = (uint32_t)units * 2,
		.code_address = at,
		.is_coroutine = i32_at(p, l->code_flags) & COROUTINE,
		.n_setup_bytes = setup_bytes(l, p, (uint32_t)units) };
	return true;
}

/* Marks where the code returns. Instructions change while they run, but never to or from a return. */
static void find_returns(struct py_codes *c, struct code *x)
{
	uint32_t n_units = x->walk.n_code_bytes / 2;
	unsigned char *bytes;
	uint64_t *returns;

	if (n_units > UNITS_READ_MOST || !c->knows_returns)
		return;
	bytes = xmalloc(x->walk.n_code_bytes);
	if (mem_read(c->mem, x->walk.code_address, bytes, x->walk.n_code_bytes) == 0) {
		returns = xcalloc((n_units + 63) / 64, sizeof *returns);
		for (uint32_t i = 0; i < n_units; i++)
			if (c->is_return[bytes[2 * (size_t)i]])
				returns[i / 64] |= (uint64_t)1 << i % 64;
		x->walk.returns = returns;
	}
	free(bytes);
}

static void forget_texts(struct code *x)
{
	free(x->file);
	free(x->qualname);
	free(x->table);
	x->file = x->qualname = NULL;
	x->table = NULL;
	x->is_read = false;
	x->row = 0;
	free(x->copies);
	x->copies = NULL;
	x->n_copies = 0;
	x->copies_ns = 0;
	py_bytecode_free(x->bytecode);
	x->bytecode = NULL;
	x->bytecode_ns = x->forms_ns = 0;
	x->n_leaves = 0;
}

static uint64_t next_check(const struct code *x)
{
	uint64_t age = x->checked_ns - x->found_ns;
	uint64_t wait = age / (x->is_reused ? AGE_CHECKED_REUSED : AGE_CHECKED);
	uint64_t least = x->is_reused ? 1 : CHECK_LEAST_NS;

	if (wait < least)
		wait = least;
	return x->checked_ns + (wait < CHECK_MOST_NS ? wait : CHECK_MOST_NS);
}

/* Whether it is another one than before. */
static bool read_head(struct py_codes *c, struct code *x)
{
	struct code now = { .address = x->address };
	unsigned char head[HEAD_MOST];
	uint32_t n = c->l->code_adaptive != PY_NONE ? c->l->code_adaptive : c->l->code_sizeof;
	bool is_code = n <= sizeof head && mem_read(c->mem, x->address, head, n) == 0 &&
		parse_head(c, head, &now);

	x->checked_ns = x->used_ns = c->now_ns;
	x->check_ns = next_check(x);
	if (is_code && x->is_code && now.filename == x->filename && now.name == x->name &&
		now.linetable == x->linetable && now.first_line == x->first_line &&
		now.walk.n_code_bytes == x->walk.n_code_bytes &&
		now.walk.code_address == x->walk.code_address &&
		now.walk.frame_bytes == x->walk.frame_bytes)
		return false;
	if (!is_code && !x->is_code)
		return false;
	forget_texts(x);
	c->n_changes++;
	x->is_reused |= x->is_code;
	x->found_ns = c->now_ns;
	x->check_ns = next_check(x);
	x->is_code = is_code;
	x->filename = now.filename;
	x->name = now.name;
	x->linetable = now.linetable;
	x->first_line = now.first_line;
	free((void *)x->walk.returns);
	x->walk = now.walk;
	if (is_code)
		find_returns(c, x);
	return true;
}

static void forget_all(struct py_codes *c)
{
	vec_each (&c->codes, x) {
		forget_texts(*x);
		free((void *)(*x)->walk.returns);
		free(*x);
	}
	vec_clear(&c->codes);
	c->n_changes++;
	memset(c->recent, 0, sizeof c->recent);
	map_clear(&c->index);
}

static struct code *code_get(struct py_codes *c, uint64_t address)
{
	struct code *x;
	uint64_t index;

	x = c->recent[address >> 4 & (N_RECENT - 1)];
	if (x && x->address == address && c->now_ns < x->check_ns)
		return x;
	if (map_find(&c->index, address, &index)) {
		x = c->recent[address >> 4 & (N_RECENT - 1)] = c->codes.v[index];
		if (c->now_ns >= x->check_ns)
			read_head(c, x);
		return x;
	}
	x = xcalloc(1, sizeof *x);
	x->address = address;
	x->found_ns = c->now_ns;
	read_head(c, x);
	map_put(&c->index, address, c->codes.n);
	vec_push(&c->codes, x);
	return x;
}

const struct walk_code *py_codes_find(struct py_codes *c, uint64_t address)
{
	struct code *x = address && address % 8 == 0 ? code_get(c, address) : NULL;

	return x && x->is_code ? &x->walk : NULL;
}

/* An array of its size and the addresses. It is made anew when threads come, and a copy ends with its thread. */
static void read_copies(struct py_codes *c, struct code *x)
{
	uint64_t array, n;

	x->copies_ns = c->now_ns;
	x->n_copies = 0;
	if (mem_read_u64(c->mem, x->address + c->l->code_tlbc, &array) < 0 || !array ||
		mem_read_u64(c->mem, array, &n) < 0 || !n || n > COPIES_MOST)
		return;
	x->copies = xrealloc(x->copies, n, sizeof *x->copies);
	if (mem_read(c->mem, array + 8, x->copies, n * sizeof *x->copies) == 0)
		x->n_copies = n;
}

static uint64_t copy_of(const struct code *x, uint32_t index, uint64_t instr)
{
	uint64_t begin = index < x->n_copies ? x->copies[index] : 0;

	return begin && instr - begin < x->walk.n_code_bytes ? begin : 0;
}

uint64_t py_codes_copy(struct py_codes *c, uint64_t address, uint32_t index, uint64_t instr)
{
	struct code *x = code_get(c, address);

	if (!x->is_code || c->l->code_tlbc == PY_NONE)
		return 0;
	if (!copy_of(x, index, instr) && x->copies_ns != c->now_ns)
		read_copies(c, x);
	return copy_of(x, index, instr);
}

bool py_codes_check(struct py_codes *c, uint64_t address)
{
	struct code *x = code_get(c, address);

	return x->checked_ns != c->now_ns && read_head(c, x);
}

const struct py_bytecode *py_codes_bytecode(struct py_codes *c, uint64_t address)
{
	struct code *x = code_get(c, address);

	if (x->bytecode || !x->is_code || !c->knows_opcodes || c->now_ns < x->bytecode_ns)
		return x->bytecode;
	x->bytecode_ns = c->now_ns + BYTECODE_AGAIN_NS;
	x->bytecode = py_bytecode_new(c->l, c->mem, &c->opcodes, address, &x->walk);
	return x->bytecode;
}

uint64_t py_codes_changes(const struct py_codes *c)
{
	return c->n_changes;
}

/* Those that nobody asked for in a long time: each that is used is checked twice a second. */
static void forget_unused(struct py_codes *c)
{
	size_t n = 0;

	if (c->now_ns < c->sweep_ns)
		return;
	c->sweep_ns = c->now_ns + SWEEP_NS;
	for (size_t i = 0; i < c->codes.n; i++) {
		struct code *x = c->codes.v[i];

		if (c->now_ns - x->used_ns < UNUSED_NS) {
			map_put(&c->index, x->address, n);
			c->codes.v[n++] = x;
			continue;
		}
		map_remove(&c->index, x->address);
		forget_texts(x);
		free((void *)x->walk.returns);
		free(x);
	}
	if (n == c->codes.n)
		return;
	c->codes.n = n;
	c->n_changes++;
	memset(c->recent, 0, sizeof c->recent);
}

void py_codes_tick(struct py_codes *c, uint64_t now_ns)
{
	c->now_ns = now_ns;
	if (c->codes.n >= CODES_MOST) /* only here: the walker holds on to what it found */
		forget_all(c);
	forget_unused(c);
}

/* ---- what the recording says ----------------------------------------------------------------- */

/* A str object as UTF-8; "?" when it cannot be read. The caller frees it. */
static char *read_text(struct py_codes *c, uint64_t address, size_t most)
{
	struct buf out = BUF_INIT;

	if (strings_read_name(c->mem, c->l, address, most, &out) < 0) {
		buf_done(&out);
		return xstrdup("?");
	}
	return out.data ? out.data : xstrdup("");
}

static void read_table(struct py_codes *c, struct code *x)
{
	unsigned char head[64];
	uint64_t n;

	if (c->l->bytes_data > sizeof head ||
		mem_read(c->mem, x->linetable, head, c->l->bytes_data) < 0)
		return;
	n = u64_at(head, c->l->bytes_size);
	if (n == 0 || n > LINETABLE_MOST)
		return;
	x->table = xmalloc(n);
	if (mem_read(c->mem, x->linetable + c->l->bytes_data, x->table, n) == 0)
		x->n_table = (uint32_t)n;
}

static bool is_hot(const struct code *x)
{
	return x->n_leaves >= HOT_LEAVES && x->bytecode;
}

static struct rec_code row_of(struct py_codes *c, struct code *x, struct writer *w)
{
	struct rec_code r = { .file = writer_string(w, x->file),
		.qualname = writer_string(w, x->qualname),
		.first_line = x->first_line,
		.n_code_bytes = x->walk.n_code_bytes,
		.linetable = { x->table, x->n_table },
		.interpreter = writer_string(w, c->interpreter) };

	if (is_hot(x)) {
		r.code_bytes = (rec_bytes){ x->bytecode->bytes, x->bytecode->n_bytes };
		r.exceptions = (rec_bytes){ x->bytecode->table, x->bytecode->n_table_bytes };
		r.words = (rec_bytes){ x->bytecode->words.data, (uint32_t)x->bytecode->words.n };
	}
	return r;
}

static void read_texts(struct py_codes *c, struct code *x)
{
	x->file = read_text(c, x->filename, NAME_PATH_MOST);
	x->qualname = read_text(c, x->name, NAME_CHARS_MOST);
	x->n_table = 0;
	read_table(c, x);
	x->is_read = true;
}

uint32_t py_codes_row(struct py_codes *c, uint64_t address, struct writer *w)
{
	struct code *x = code_get(c, address);
	struct rec_code r;
	int tries = 0;

	if (x->is_code && x->row && x->segment == writer_segment(w))
		return x->row;
	while (x->is_code && !x->is_read) {
		read_texts(c, x);
		/* They are of both when another one took its place meanwhile: then they were forgotten. */
		if (++tries < TEXT_TRIES && read_head(c, x))
			continue;
		if (c->sources)
			sources_file(c->sources, c->source_process, x->file);
	}
	if (!x->is_code)
		return 0;
	x->segment = writer_segment(w);
	r = row_of(c, x, w);
	x->row = writer_row(w, RECORD_code, &r);
	return x->row;
}

/* ---- hot code -------------------------------------------------------------------------------- */

static void record_hot(struct py_codes *c, struct code *x, struct writer *w)
{
	struct rec_code r;

	if (!py_codes_bytecode(c, x->address))
		return;
	py_bytecode_read_words(x->bytecode, c->l, c->mem, x->address);
	r = row_of(c, x, w);
	x->row = writer_row_again(w, RECORD_code, &r);
}

static void record_forms(struct py_codes *c, struct code *x, struct writer *w, uint32_t process)
{
	bool is_new = py_bytecode_read_forms(x->bytecode, c->mem, &x->walk);

	if (!is_new && (x->forms_segment == x->segment || !x->bytecode->forms.n))
		return;
	x->forms_segment = x->segment;
	writer_add(w, RECORD_specialised,
		&(struct rec_specialised){ .t_ns = c->now_ns,
			.process = process,
			.code = x->row,
			.forms = { x->bytecode->forms.data, (uint32_t)x->bytecode->forms.n } });
}

void py_codes_leaf(struct py_codes *c, uint64_t address, struct writer *w, uint32_t process)
{
	struct code *x = code_get(c, address);

	if (!x->is_code || !x->row || x->segment != writer_segment(w))
		return;
	if (x->n_leaves < HOT_LEAVES && ++x->n_leaves == HOT_LEAVES)
		record_hot(c, x, w);
	if (!is_hot(x) || c->now_ns < x->forms_ns || c->now_ns < c->forms_ns ||
		c->l->flags & PY_HEAP_FRAMES)
		return;
	x->forms_ns = c->now_ns + FORMS_NS;
	c->forms_ns = c->now_ns + FORMS_PAUSE_NS;
	record_forms(c, x, w, process);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct py_codes *py_codes_new(
	const struct py_layout *l, const struct mem *mem, const char *interpreter)
{
	struct py_codes *c = xcalloc(1, sizeof *c);

	c->l = l;
	c->mem = mem;
	c->interpreter = interpreter;
	c->knows_returns = opcodes_returning(l, c->is_return);
	c->knows_opcodes = opcodes_init(&c->opcodes, l->major, l->minor);
	return c;
}

void py_codes_tell_sources(struct py_codes *c, struct sources *sources, unsigned process)
{
	c->sources = sources;
	c->source_process = process;
}

void py_codes_free(struct py_codes *c)
{
	if (!c)
		return;
	forget_all(c);
	vec_done(&c->codes);
	map_done(&c->index);
	free(c);
}
