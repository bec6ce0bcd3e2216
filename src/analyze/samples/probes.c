/* SPDX-License-Identifier: MIT
 * See probes.h. */
#include "analyze/samples/probes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/bytecode.h"
#include "analyze/code/frames.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "cpython/operands.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct seen { /* one probe: operands of one instant */
	uint64_t t_ns;
	uint32_t thread;
};

struct site {
	uint32_t code, offset;
	uint64_t n;
	double seconds;
	struct seen last;
	VEC(struct probe_operand) operands;
};

struct builder {
	struct arena *a;
	const struct stacks *s;
	struct map index; /* code, offset → site + 1 */
	VEC(struct site) sites;
	struct map codes; /* code → struct instructions *, 0: none */
};

static struct site *site_find(struct builder *b, uint32_t code, uint32_t offset)
{
	uint64_t index;

	return map_find(&b->index, (uint64_t)code << 32 | offset, &index) ? &b->sites.v[index]
									  : NULL;
}

static struct site *site_get(struct builder *b, uint32_t code, uint32_t offset)
{
	struct site *found = site_find(b, code, offset);

	if (found)
		return found;
	map_put(&b->index, (uint64_t)code << 32 | offset, b->sites.n);
	vec_push(&b->sites, (struct site){ .code = code, .offset = offset });
	return &b->sites.v[b->sites.n - 1];
}

static void count_operand(
	struct site *s, const struct rec_probe *r, const char *type, const char *name)
{
	bool has_size = r->size != RECORD_UNKNOWN;

	vec_each (&s->operands, o) {
		if (o->operand != r->operand || strcmp(o->type, type) != 0 ||
			strcmp(o->name, name) != 0)
			continue;
		o->n++;
		if (has_size && (o->size_min == RECORD_UNKNOWN || r->size < o->size_min))
			o->size_min = r->size;
		if (has_size && (o->size_max == RECORD_UNKNOWN || r->size > o->size_max))
			o->size_max = r->size;
		return;
	}
	vec_push(&s->operands,
		(struct probe_operand){ .operand = r->operand,
			.type = type,
			.name = name,
			.n = 1,
			.size_min = r->size,
			.size_max = r->size });
}

static uint64_t gather(struct builder *b)
{
	struct record_iter it = record_iter(b->s->tables, RECORD_probe);
	uint64_t n = 0;

	for (const struct rec_probe *r; (r = record_next(&it));) {
		struct site *s = site_get(b, r->code, r->offset);

		if (s->last.t_ns != r->t_ns || s->last.thread != r->thread) {
			s->last = (struct seen){ r->t_ns, r->thread };
			s->n++;
			n++;
		}
		count_operand(s, r, tables_string(b->s->tables, r->type),
			tables_string(b->s->tables, r->name));
	}
	record_iter_done(&it);
	return n;
}

static void add_time(struct builder *b, double scale)
{
	for (size_t i = 0; i < b->s->n; i++) {
		const struct stack_place *p = &b->s->v[i];
		struct site *s = p->leaf_code ? site_find(b, p->leaf_code, p->leaf_offset) : NULL;

		if (s)
			s->seconds += p->value * scale;
	}
}

static int by_operand(const void *a, const void *b)
{
	const struct probe_operand *x = a, *y = b;

	if (x->operand != y->operand)
		return x->operand < y->operand ? -1 : 1;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->type, y->type);
}

static int by_time(const void *a, const void *b)
{
	const struct probe_site *x = a, *y = b;

	if (x->self_s != y->self_s)
		return x->self_s < y->self_s ? 1 : -1;
	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* ---- in words -------------------------------------------------------------------------------- */

static const struct instructions *instructions_of(struct builder *b, uint32_t code)
{
	const struct instructions *i;
	uint64_t found;

	if (map_find(&b->codes, code, &found))
		return (const struct instructions *)(uintptr_t)found;
	i = instructions_read(b->a, b->s->tables, code);
	map_put(&b->codes, code, (uintptr_t)i);
	return i;
}

/* What was seen most often of an operand: the first, as they are sorted; NULL nothing. */
static const struct probe_operand *most_of(const struct probe_site *s, uint8_t operand)
{
	for (size_t i = 0; i < s->n_operands; i++)
		if (s->operands[i].operand == operand)
			return &s->operands[i];
	return NULL;
}

static const char *type_of(const struct probe_site *s, uint8_t operand)
{
	const struct probe_operand *o = most_of(s, operand);

	return o ? o->type : "…";
}

static const char *symbol_of(const struct instructions *i, const struct instruction *at)
{
	const char *symbol = argument_operator(&i->opcodes, at);

	return symbol ? symbol : argument_comparison(&i->opcodes, at);
}

static void put_in_words(struct builder *b, struct probe_site *s)
{
	const struct instructions *i = instructions_of(b, s->code);
	const struct instruction *at = i ? bytecode_running(&i->code, s->offset) : NULL;
	const struct probe_operand *first = most_of(s, 0);
	struct operands kind;

	s->instruction = s->operation = "";
	if (!at || !operands_find(&i->opcodes, at, &kind))
		return;
	s->instruction = opcode_name((enum opcode)at->base);
	switch (kind.kind) {
	case OPERANDS_CALL:
		if (first && *first->name)
			s->operation = arena_printf(b->a, "%s()", first->name);
		break;
	case OPERANDS_CONTAINS:
		if (first)
			s->operation = arena_printf(b->a, "%s %s", symbol_of(i, at), first->type);
		break;
	case OPERANDS_ARITHMETIC:
		first = most_of(s, 1);
		first = first ? first : most_of(s, 2);
		if (first)
			s->operation = arena_printf(
				b->a, "%s %s %s", type_of(s, 1), symbol_of(i, at), type_of(s, 2));
		break;
	case OPERANDS_SUBSCRIPT:
		if (first)
			s->operation = arena_printf(b->a, "%s[…]", first->type);
		break;
	}
	s->share = first && s->n ? (double)first->n / (double)s->n : 0;
}

static void finish(struct builder *b, struct site *from, struct probe_site *to)
{
	struct stack_frame f = frames_of_code(b->s->frames, from->code, from->offset);

	if (from->operands.n)
		qsort(from->operands.v, from->operands.n, sizeof *from->operands.v, by_operand);
	*to = (struct probe_site){ .file = f.file,
		.function = f.name,
		.line = f.line,
		.code = from->code,
		.offset = from->offset,
		.n = from->n,
		.self_s = from->seconds,
		.operands = arena_copy(
			b->a, from->operands.v, from->operands.n * sizeof *from->operands.v),
		.n_operands = from->operands.n };
	vec_done(&from->operands);
	put_in_words(b, to);
}

const struct probes *probes_build(struct arena *a, const struct stacks *s, double lost_share)
{
	struct builder b = { .a = a, .s = s };
	struct probes *p = arena_new(a, struct probes);
	struct probe_site *v;

	p->n_taken = gather(&b);
	add_time(&b, 1 - lost_share);
	v = arena_new_n(a, struct probe_site, b.sites.n + 1);
	for (size_t i = 0; i < b.sites.n; i++)
		finish(&b, &b.sites.v[i], &v[i]);
	if (b.sites.n)
		qsort(v, b.sites.n, sizeof *v, by_time);
	p->v = v;
	p->n = b.sites.n;
	vec_done(&b.sites);
	map_done(&b.index);
	map_done(&b.codes);
	return p;
}

const struct probe_site *probes_line(const struct probes *p, const char *file, int line)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].line == line && strcmp(p->v[i].file, file) == 0)
			return &p->v[i];
	return NULL;
}
