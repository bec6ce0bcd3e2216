/* SPDX-License-Identifier: MIT
 * See frames.h. */
#include "analyze/code/frames.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analyze/code/qualnames.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "cpython/linetable.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

enum { UNKNOWN, LIBRARY, LATE, STOPPED, N_FIXED }; /* functions that every recording has */
enum { BUILTIN = 255 }; /* beside enum frame_tag: a C function that was traced */

struct numbers { /* keys → 0, 1, 2 …; in the arena, open addressing */
	struct number {
		uint64_t a, b;
		uint32_t next; /* the number + 1; 0: free */
	} * slots;
	size_t n_slots; /* power of two, or 0 */
	uint32_t n;
};

struct code_row {
	uint32_t function;
	bool is_decoded;
	struct linetable lines;
};

struct frame_row {
	uint32_t function; /* of those that are not Python code */
	bool is_resolved;
	struct stack_frame frame;
};

struct frames {
	struct arena *a;
	struct tables *t;
	struct code_row *codes;   /* by row */
	struct frame_row *frames; /* by row */
	size_t n_codes, n_frames; /* rows taken in */
	struct stack_function *functions;
	size_t n_functions, capacity;
	struct numbers function_numbers, line_numbers;
	const struct qualnames *qualnames; /* NULL: not needed yet */
};

/* ---- whose code ------------------------------------------------------------------------------ */

/* Behind "lib/python3.11/" and its like; NULL when the path has no such folder. */
static const char *behind_stdlib(const char *file)
{
	for (const char *at = file; (at = strstr(at, "/python"));) {
		size_t back = (size_t)(at - file), n;
		bool in_lib = (back >= 4 && memcmp(at - 4, "/lib", 4) == 0) ||
			(back >= 6 && memcmp(at - 6, "/lib64", 6) == 0);

		at += 7;
		n = strspn(at, "0123456789.");
		if (n && strncmp(at + n - 1, ".zip/", 5) == 0)
			return at + n + 4; /* the dot was among the digits */
		if (at[n] == 't')
			n++;
		if (in_lib && isdigit((unsigned char)*at) && at[n] == '/')
			return at + n + 1;
	}
	return NULL;
}

static const char *behind_packages(const char *file)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		const char *at = strstr(file, folders[i]);

		if (at)
			return at + strlen(folders[i]);
	}
	return NULL;
}

bool frames_is_library(const char *file)
{
	static const char *const typed[] = { "<string>", "<stdin>", "<ipython", "<cell", "<doctest",
		"<console>", "<input" };

	if (*file == '<') {
		for (size_t i = 0; i < sizeof typed / sizeof *typed; i++)
			if (strncmp(file, typed[i], strlen(typed[i])) == 0)
				return false;
		return true;
	}
	return behind_packages(file) || behind_stdlib(file);
}

const char *frames_module_path(const char *file)
{
	const char *at = behind_packages(file);

	if (!at)
		at = behind_stdlib(file);
	return at ? at : file;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static struct number *slot_for(struct number *slots, size_t n_slots, uint64_t a, uint64_t b)
{
	size_t at = hash_place(a ^ hash_place(b)) & (n_slots - 1);

	while (slots[at].next && (slots[at].a != a || slots[at].b != b))
		at = (at + 1) & (n_slots - 1);
	return &slots[at];
}

static uint32_t number(struct arena *arena, struct numbers *x, uint64_t a, uint64_t b)
{
	struct number *slot;

	if (x->n * 2 >= x->n_slots) {
		size_t n_slots = x->n_slots ? x->n_slots * 2 : 1024;
		struct number *slots = arena_new_n(arena, struct number, n_slots);

		for (size_t i = 0; i < x->n_slots; i++)
			if (x->slots[i].next)
				*slot_for(slots, n_slots, x->slots[i].a, x->slots[i].b) =
					x->slots[i];
		x->slots = slots;
		x->n_slots = n_slots;
	}
	slot = slot_for(x->slots, x->n_slots, a, b);
	if (!slot->next)
		*slot = (struct number){ a, b, ++x->n };
	return slot->next - 1;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void add_function(struct frames *f, struct stack_function function)
{
	if (f->n_functions == f->capacity) {
		struct stack_function *old = f->functions;

		f->capacity = f->capacity ? f->capacity * 2 : 256;
		f->functions = arena_new_n(f->a, struct stack_function, f->capacity);
		if (old)
			memcpy(f->functions, old, f->n_functions * sizeof *old);
	}
	f->functions[f->n_functions++] = function;
}

static const char *in_braces(struct arena *a, const char *name)
{
	size_t n = strlen(name);

	return n > 2 && name[0] == '<' && name[n - 1] == '>'
		? arena_printf(a, "{%.*s}", (int)(n - 2), name + 1)
		: name;
}

static uint32_t function_of(
	struct frames *f, uint32_t file, uint32_t name, uint32_t line, unsigned tag)
{
	bool has_place = tag == FRAME_PY || (tag == FRAME_FOREIGN && file);
	uint32_t function;

	/* The recorder knows of some stops, the analysis of others: they are one row. */
	if (tag == FRAME_SYNTH &&
		strcmp(tables_string(f->t, name), f->functions[STOPPED].name) == 0)
		return STOPPED;
	function = N_FIXED +
		number(f->a, &f->function_numbers, (uint64_t)file << 32 | name,
			(uint64_t)line << 8 | tag);
	if (function == f->n_functions)
		add_function(f,
			(struct stack_function){ .name = tag == BUILTIN
					? in_braces(f->a, tables_string(f->t, name))
					: tables_string(f->t, name),
				.file = tables_string(f->t, file),
				.first_line = line,
				.is_synthetic = !has_place,
				.is_builtin = tag == BUILTIN,
				.is_library = tag == BUILTIN ||
					(has_place &&
						frames_is_library(tables_string(f->t, file))) });
	return function;
}

static void *grown(struct arena *a, const void *old, size_t n_old, size_t n, size_t item_bytes)
{
	void *rows = arena_array(a, n, item_bytes);

	if (old)
		memcpy(rows, old, n_old * item_bytes);
	return rows;
}

/* Up to 3.10 code objects know plain names only: the source may tell more. */
static void qualify(struct frames *f, uint32_t function, const struct rec_code *c)
{
	struct stack_function *x = &f->functions[function];
	unsigned major = 0, minor = 0;

	if (sscanf(tables_string(f->t, c->interpreter), "cpython %u.%u", &major, &minor) != 2 ||
		major != 3 || minor > 10)
		return;
	if (!f->qualnames)
		f->qualnames = qualnames_load(f->a, f->t);
	x->name = qualnames_find(f->qualnames, c->file, c->first_line, x->name);
}

/* The tables' rows that are not known yet. */
static void take_in(struct frames *f)
{
	size_t n_codes = tables_count(f->t, RECORD_code),
	       n_frames = tables_count(f->t, RECORD_frame);
	uint32_t row;

	f->codes = grown(f->a, f->codes, f->n_codes + 1, n_codes + 1, sizeof *f->codes);
	f->frames = grown(f->a, f->frames, f->n_frames + 1, n_frames + 1, sizeof *f->frames);
	for (row = (uint32_t)f->n_codes + 1; row <= n_codes; row++) {
		const struct rec_code *c = tables_row(f->t, RECORD_code, row);

		f->codes[row].function =
			function_of(f, c->file, c->qualname, c->first_line, FRAME_PY);
		qualify(f, f->codes[row].function, c);
	}
	for (row = (uint32_t)f->n_frames + 1; row <= n_frames; row++) {
		const struct rec_frame *r = tables_row(f->t, RECORD_frame, row);

		if (r->tag != FRAME_PY)
			f->frames[row].function =
				function_of(f, r->file, r->name, r->first_line, r->tag);
	}
	f->n_codes = n_codes;
	f->n_frames = n_frames;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static struct position position_of(
	struct frames *f, struct code_row *row, const struct rec_code *code, uint32_t offset)
{
	struct err ignored = ERR_INIT; /* a broken table: its lines are unknown */
	unsigned major = 0, minor = 0;

	if (!row->is_decoded) {
		row->is_decoded = true;
		if (sscanf(tables_string(f->t, code->interpreter), "cpython %u.%u", &major,
			    &minor) == 2)
			linetable_decode(f->a, linetable_format_for(major, minor),
				code->linetable.p, code->linetable.n, code->first_line,
				code->n_code_bytes, &row->lines, &ignored);
	}
	return linetable_get(&row->lines, offset);
}

static struct stack_frame frame_of(const struct frames *f, uint32_t function)
{
	const struct stack_function *x = &f->functions[function];

	return (struct stack_frame){ .name = x->name,
		.file = x->file,
		.first_line = x->first_line,
		.line = -1,
		.column = -1,
		.end_column = -1,
		.is_synthetic = x->is_synthetic,
		.is_library = x->is_library,
		.function = function };
}

struct stack_frame frames_library(struct frames *f)
{
	return frame_of(f, LIBRARY);
}

/* Numbered as others are, by what no row can be. */
static struct stack_frame frame_named(struct frames *f, uint64_t key, const char *name)
{
	uint32_t function = N_FIXED + number(f->a, &f->function_numbers, UINT64_MAX, key);

	if (function == f->n_functions)
		add_function(f,
			(struct stack_function){ .name = name, .file = "", .is_synthetic = true });
	return frame_of(f, function);
}

struct stack_frame frames_left_out(struct frames *f)
{
	return frame_named(f, UINT64_MAX, "[left out]");
}

struct stack_frame frames_imports(struct frames *f)
{
	return frame_named(f, UINT64_MAX - 1, "[imports]");
}

struct stack_frame frames_of_function(const struct frames *f, uint32_t function)
{
	return frame_of(f, function);
}

struct stack_frame frames_of_builtin(struct frames *f, uint32_t name)
{
	return frame_of(f, function_of(f, 0, name, 0, BUILTIN));
}

struct stack_frame frames_of_code(struct frames *f, uint32_t code_row, uint32_t offset_bytes)
{
	const struct rec_code *code = tables_row(f->t, RECORD_code, code_row);
	struct stack_frame frame;
	struct position p;

	if (!code)
		return frame_of(f, UNKNOWN);
	if (code_row > f->n_codes)
		take_in(f);
	frame = frame_of(f, f->codes[code_row].function);
	p = position_of(f, &f->codes[code_row], code, offset_bytes);
	frame.line = p.line;
	if (p.line == p.end_line) {
		frame.column = p.column;
		frame.end_column = p.end_column;
	}
	frame.line_id =
		number(f->a, &f->line_numbers, (uint64_t)code->file << 32 | (uint32_t)p.line, 0);
	return frame;
}

uint32_t frames_code_function(struct frames *f, uint32_t code_row)
{
	if (!tables_row(f->t, RECORD_code, code_row))
		return UNKNOWN;
	if (code_row > f->n_codes)
		take_in(f);
	return f->codes[code_row].function;
}

static void add_foreign_line(struct frames *f, const struct rec_frame *r, struct stack_frame *to)
{
	to->line = r->position && r->position <= INT_MAX ? (int)r->position : -1;
	to->line_id =
		number(f->a, &f->line_numbers, (uint64_t)r->file << 32 | (uint32_t)to->line, 0);
}

struct stack_frame frames_get(struct frames *f, uint32_t frame_row)
{
	const struct rec_frame *r = tables_row(f->t, RECORD_frame, frame_row);
	struct frame_row *row;

	if (!r)
		return frame_of(f, UNKNOWN);
	if (frame_row > f->n_frames)
		take_in(f);
	row = &f->frames[frame_row];
	if (!row->is_resolved) {
		row->is_resolved = true;
		row->frame = r->tag == FRAME_PY ? frames_of_code(f, r->code, (uint32_t)r->position)
						: frame_of(f, row->function);
		if (r->tag == FRAME_FOREIGN && r->file)
			add_foreign_line(f, r, &row->frame);
	}
	return row->frame;
}

struct stack_frame frames_unseen(struct frames *f, uint32_t stack)
{
	return frame_of(f, stack == FRAMES_LATE ? LATE : STOPPED);
}

uint32_t frames_leaf(struct frames *f, uint32_t stack, uint32_t leaf_code, uint32_t leaf_offset)
{
	const struct rec_stack *row;

	if (frames_is_unseen(stack))
		return frames_unseen(f, stack).function;
	if (leaf_code)
		return frames_of_code(f, leaf_code, leaf_offset).function;
	row = tables_row(f->t, RECORD_stack, stack);
	return frames_get(f, row ? row->frame : 0).function;
}

struct frames *frames_new(struct arena *a, struct tables *t)
{
	static const char *const fixed[N_FIXED] = { [UNKNOWN] = "[unknown]",
		[LIBRARY] = "[library]",
		[LATE] = "[sampler late]",
		[STOPPED] = "[stopped]" };
	struct frames *f = arena_new(a, struct frames);

	f->a = a;
	f->t = t;
	for (int i = 0; i < N_FIXED; i++)
		add_function(f,
			(struct stack_function){
				.name = fixed[i], .file = "", .is_synthetic = true });
	take_in(f);
	return f;
}

size_t frames_n_functions(const struct frames *f)
{
	return f->n_functions;
}

const struct stack_function *frames_function(const struct frames *f, uint32_t function)
{
	return &f->functions[function];
}
