/* SPDX-License-Identifier: MIT
 * See disassembly.h. */
#include "analyze/code/disassembly.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/calls/exact_lines.h"
#include "analyze/calls/opcode_counts.h"
#include "analyze/code/bytecode.h"
#include "analyze/code/frames.h"
#include "analyze/code/source_texts.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "cpython/symbolic.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct builder {
	struct arena *a;
	const struct stacks *s;
	const struct source_texts *texts;
	const struct exact_lines_function *counted; /* NULL: nothing was */
	const struct opcode_code *opcodes;          /* NULL likewise */
	double scale;
	uint32_t code; /* row */
	const struct instructions *in;
	struct disassembly_row *rows;
	size_t *seen; /* by row: the last place that counted it, + 1 */
	struct disassembly *out;
};

/* ---- time ------------------------------------------------------------------------------------ */

/* The instruction that an offset belongs to, caches included; NULL: behind the end. */
static struct disassembly_row *row_of(struct builder *b, uint64_t offset)
{
	const struct bytecode *code = &b->in->code;
	uint64_t unit = offset / 2;

	if (unit >= code->n_units)
		return NULL;
	while (unit && !code->index[unit])
		unit--;
	return code->index[unit] ? &b->rows[code->index[unit] - 1] : NULL;
}

static void add_place(struct builder *b, size_t place)
{
	const struct stack_place *p = &b->s->v[place];
	struct disassembly_row *r = p->leaf_code == b->code ? row_of(b, p->leaf_offset) : NULL;
	double seconds = p->value * b->scale;
	bool is_in = r != NULL;

	if (r) {
		r->self_s += seconds;
		r->total_s += seconds;
		b->seen[r - b->rows] = place + 1;
		b->out->self_s += seconds;
	}
	for (uint32_t row = p->stack, depth = 0; row && depth < STACKS_DEPTH; depth++) {
		const struct rec_stack *stack = tables_row(b->s->tables, RECORD_stack, row);
		const struct rec_frame *f =
			stack ? tables_row(b->s->tables, RECORD_frame, stack->frame) : NULL;

		if (!f)
			break;
		r = f->tag == FRAME_PY && f->code == b->code ? row_of(b, f->position) : NULL;
		if (r && b->seen[r - b->rows] != place + 1) {
			b->seen[r - b->rows] = place + 1;
			r->total_s += seconds;
		}
		is_in |= r != NULL;
		row = stack->parent;
	}
	if (is_in)
		b->out->total_s += seconds;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
	return (*text >= '0' && *text <= '9') || (*text == '-' && text[1] >= '0' && text[1] <= '9');
}

/* The source of a constant that is an expression there. Needs columns, which 3.11 and later tell. */
static const char *folded(
	struct builder *b, const struct instruction *i, const struct stack_frame *f)
{
	struct text_line line = { 0 };
	const char *value =
		i->base == OP_LOAD_CONST ? words_get(&b->in->words.consts, i->arg) : NULL;
	char *text;
	size_t n;

	if (b->texts && value && f->column >= 0 && f->end_column > f->column)
		line = source_texts_line(b->texts, f->file, f->line);
	if (!line.p || (size_t)f->end_column > line.n)
		return "";
	n = (size_t)(f->end_column - f->column);
	text = arena_strndup(b->a, line.p + f->column, n);
	if (strcmp(text, value) == 0)
		return "";
	if (is_number(value) && strpbrk(*text == '-' ? text + 1 : text, "+-*/%<>&|^~") &&
		!strpbrk(text, "eE'\"("))
		return text;
	return (*value == '(' && n > 2 && strpbrk(text, "+*")) ||
			strncmp(value, "frozenset", 9) == 0
		? text
		: "";
}

/* Hits and time of the line, at its first instruction. */
static void put_counts(const struct builder *b, struct disassembly_row *r)
{
	for (size_t i = 0; b->counted && r->starts_line && i < b->counted->n_lines; i++)
		if (b->counted->lines[i].line == (uint32_t)r->line) {
			r->is_counted = true;
			r->hits = b->counted->lines[i].hits;
			r->line_s = b->counted->lines[i].own_s;
		}
}

static void put_words(struct builder *b, size_t index, const struct symbolic *stack, int *line)
{
	const struct instruction *i = &b->in->code.v[index];
	struct stack_frame f = frames_of_code(b->s->frames, b->code, i->offset);
	struct disassembly_row *r = &b->rows[index];
	struct buf text = BUF_INIT;

	argument_format(&b->in->opcodes, i, &b->in->words, &text);
	*r = (struct disassembly_row){ .offset = i->offset,
		.name = opcode_name((enum opcode)i->base),
		.has_arg = i->argument != ARGUMENT_NONE,
		.arg = i->arg,
		.text = arena_strdup(b->a, i->base == OP_EXTENDED_ARG ? "" : buf_str(&text)),
		.line = f.line,
		.starts_line = f.line != *line && f.line >= 0,
		.is_target = i->is_target,
		.target = i->target,
		.depth = i->depth,
		.form = "",
		.folded = folded(b, i, &f),
		.stack = stack->v,
		.n_stack = stack->n };
	if (f.line >= 0)
		*line = f.line;
	put_counts(b, r);
	r->has_executed = b->opcodes != NULL;
	r->executed = b->opcodes ? opcode_code_at(b->opcodes, r->offset) : 0;
	buf_done(&text);
}

static void put_forms(struct builder *b)
{
	struct record_iter it = record_iter(b->s->tables, RECORD_specialised);

	for (const struct rec_specialised *r; (r = record_next(&it));) {
		const uint8_t *p = r->forms.p;

		if (r->code != b->code)
			continue;
		b->out->n_forms++;
		for (uint32_t i = 0; i + 3 <= r->forms.n; i += 3) {
			uint32_t unit = p[i] | (uint32_t)p[i + 1] << 8;
			uint32_t index = unit < b->in->code.n_units ? b->in->code.index[unit] : 0;
			enum opcode id = (enum opcode)b->in->opcodes.id[p[i + 2]];

			if (index && opcode_base(id) == b->in->code.v[index - 1].base)
				b->rows[index - 1].form = opcode_name(id);
		}
	}
	record_iter_done(&it);
}

static void put_handlers(struct builder *b)
{
	const struct bytecode *code = &b->in->code;
	struct disassembly_handler *v =
		arena_new_n(b->a, struct disassembly_handler, code->n_handlers + 1);

	for (size_t i = 0; i < code->n_handlers; i++)
		v[i] = (struct disassembly_handler){ .start = code->handlers[i].start,
			.end = code->handlers[i].end >= 2 ? code->handlers[i].end - 2 : 0,
			.target = code->handlers[i].target,
			.depth = code->handlers[i].depth,
			.has_lasti = code->handlers[i].has_lasti };
	b->out->handlers = v;
	b->out->n_handlers = code->n_handlers;
}

static void build_one(struct builder *b, const struct rec_code *r)
{
	struct stack_frame f = frames_of_code(b->s->frames, b->code, 0);
	const struct symbolic *stacks =
		symbolic_build(b->a, &b->in->opcodes, &b->in->code, &b->in->words);
	int line = -1;

	b->rows = arena_new_n(b->a, struct disassembly_row, b->in->code.n + 1);
	b->seen = arena_new_n(b->a, size_t, b->in->code.n + 1);
	*b->out = (struct disassembly){ .name = f.name,
		.file = f.file,
		.interpreter = tables_string(b->s->tables, r->interpreter),
		.first_line = f.first_line,
		.v = b->rows,
		.n = b->in->code.n,
		.has_executed = b->opcodes != NULL,
		.is_derived = b->opcodes && b->opcodes->is_derived };
	for (size_t i = 0; i < b->in->code.n; i++)
		put_words(b, i, &stacks[i], &line);
	for (size_t i = 0; i < b->s->n; i++)
		add_place(b, i);
	put_forms(b);
	put_handlers(b);
}

static int by_time(const void *a, const void *b)
{
	const struct disassembly *x = a, *y = b;

	if (x->total_s != y->total_s)
		return x->total_s < y->total_s ? 1 : -1;
	return x->first_line < y->first_line ? -1 : x->first_line > y->first_line;
}

static const struct exact_lines_function *counted_of(const struct exact_lines *l, uint32_t function)
{
	for (size_t i = 0; l && i < l->n_functions; i++)
		if (l->functions[i].function == function)
			return &l->functions[i];
	return NULL;
}

const struct disassembly *disassembly_build(struct arena *a, const struct stacks *s,
	uint32_t function, const struct disassembly_options *o, size_t *ret_n)
{
	size_t n_codes = tables_count(s->tables, RECORD_code);
	VEC(struct disassembly) found = VEC_INIT;
	const struct disassembly *v;

	for (uint32_t row = 1; row <= n_codes; row++) {
		struct disassembly one;
		struct builder b = { .a = a,
			.s = s,
			.texts = o->texts,
			.counted = counted_of(o->lines, function),
			.opcodes = opcode_counts_find(o->opcodes, row),
			.scale = 1 - o->lost_share,
			.code = row,
			.out = &one };

		if (frames_code_function(s->frames, row) != function)
			continue;
		b.in = instructions_read(a, s->tables, row);
		if (!b.in)
			continue;
		build_one(&b, tables_row(s->tables, RECORD_code, row));
		vec_push(&found, one);
	}
	if (found.n)
		qsort(found.v, found.n, sizeof *found.v, by_time);
	v = arena_copy(a, found.v, found.n * sizeof *found.v);
	*ret_n = found.n;
	vec_done(&found);
	return v;
}
