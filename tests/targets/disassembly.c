/* SPDX-License-Identifier: MIT
 * Holds src/cpython/bytecode.c, argument.c and effects.def against an interpreter: disassembly <dump
 *
 * The dump, made inside that interpreter (tests/e2e/test_bytecode.py), is its version (2 bytes: major, minor), then
 * for every code object: struct head, its name, bytes, exception table and words, then what dis says of each
 * instruction and handler. Everything is compared. Prints the first differences and one line of counts.
 * Exit status: 0 all agree, 1 not all, 2 the dump cannot be read. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cpython/argument.h"
#include "cpython/bytecode.h"

enum { SHOWN = 20, MAX_BYTES = 1 << 28, NO_EFFECT = INT32_MIN };

struct head {
	uint32_t n_code_bytes, n_table_bytes, n_consts, n_names, n_locals, n_frees;
	uint32_t n_instructions, n_handlers, stack_size;
};

struct said { /* of an instruction; then come its name and its argument's text */
	uint32_t offset;
	int32_t arg, target; /* −1: none */
	int32_t effect, effect_jumping;
};

struct counts {
	unsigned long codes, instructions, handlers, without_depth, wrong;
};

static void read_exactly(void *to, size_t n)
{
	if (fread(to, 1, n, stdin) == n)
		return;
	fprintf(stderr, "disassembly: the dump ends early\n");
	exit(2);
}

static void *read_bytes(struct arena *a, size_t n)
{
	char *p;

	if (n > MAX_BYTES) {
		fprintf(stderr, "disassembly: the dump is damaged\n");
		exit(2);
	}
	p = arena_alloc(a, n + 1);
	read_exactly(p, n);
	return p;
}

static const char *read_text(struct arena *a)
{
	uint32_t n;

	read_exactly(&n, sizeof n);
	return read_bytes(a, n);
}

static struct words read_words(struct arena *a, uint32_t n)
{
	const char **v = arena_new_n(a, const char *, n + 1);

	for (uint32_t i = 0; i < n; i++)
		v[i] = read_text(a);
	return (struct words){ v, n };
}

static void wrong(struct counts *c, const char *code, uint32_t offset, const char *what,
	const char *want, const char *got)
{
	if (c->wrong++ < SHOWN)
		printf("%s at %u: %s expected %s got %s\n", code, offset, what, want, got);
}

static void wrong_number(struct counts *c, const char *code, uint32_t offset, const char *what,
	int32_t want, int32_t got)
{
	char a[16], b[16];

	snprintf(a, sizeof a, "%d", want);
	snprintf(b, sizeof b, "%d", got);
	wrong(c, code, offset, what, a, b);
}

static void check_effect(struct counts *c, const struct opcodes *o, const char *code,
	const struct instruction *i, const struct said *said)
{
	struct effect e;

	if (said->effect == NO_EFFECT)
		return;
	if (!opcode_effect(o, (enum opcode)i->base, i->arg, &e)) {
		wrong(c, code, i->offset, "effect", "one", opcode_name((enum opcode)i->base));
		return;
	}
	if ((int32_t)e.gives - (int32_t)e.takes != said->effect)
		wrong_number(c, code, i->offset, "effect", said->effect,
			(int32_t)e.gives - (int32_t)e.takes);
	if ((int32_t)e.gives_jumping - (int32_t)e.takes != said->effect_jumping)
		wrong_number(c, code, i->offset, "effect when it jumps", said->effect_jumping,
			(int32_t)e.gives_jumping - (int32_t)e.takes);
}

static void check_instruction(struct counts *c, struct arena *a, const struct opcodes *o,
	const char *code, const struct instruction *i, const struct code_words *words,
	const struct head *h)
{
	struct buf text = BUF_INIT;
	const char *name, *argument;
	struct said said;

	read_exactly(&said, sizeof said);
	name = read_text(a);
	argument = read_text(a);
	if (said.offset != i->offset)
		wrong_number(
			c, code, i->offset, "offset", (int32_t)said.offset, (int32_t)i->offset);
	if (strcmp(name, opcode_name((enum opcode)i->id)) != 0)
		wrong(c, code, i->offset, "name", name, opcode_name((enum opcode)i->id));
	if (said.arg != (i->argument == ARGUMENT_NONE ? -1 : (int32_t)i->arg))
		wrong_number(c, code, i->offset, "argument", said.arg, (int32_t)i->arg);
	if (said.target != i->target)
		wrong_number(c, code, i->offset, "target", said.target, i->target);
	argument_format(o, i, words, &text);
	if (strcmp(argument, buf_str(&text)) != 0)
		wrong(c, code, i->offset, name, argument, buf_str(&text));
	check_effect(c, o, code, i, &said);
	if (i->depth > (int32_t)h->stack_size)
		wrong_number(c, code, i->offset, "depth", (int32_t)h->stack_size, i->depth);
	c->without_depth += i->depth < 0;
	buf_done(&text);
}

static void check_handlers(struct counts *c, const char *code, const struct bytecode *b, uint32_t n)
{
	if (b->n_handlers != n)
		wrong_number(c, code, 0, "handlers", (int32_t)n, (int32_t)b->n_handlers);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t said[5];

		read_exactly(said, sizeof said);
		if (i < b->n_handlers) {
			const struct handler *h = &b->handlers[i];
			const uint32_t got[5] = { h->start, h->end, h->target, h->depth,
				h->has_lasti };

			if (memcmp(got, said, sizeof got) != 0)
				wrong_number(
					c, code, said[0], "handler", (int32_t)i, (int32_t)got[0]);
		}
	}
	c->handlers += n;
}

static void check_code(struct counts *c, const struct opcodes *o, const struct head *h)
{
	struct arena a = ARENA_INIT;
	const char *name = read_text(&a);
	const uint8_t *bytes = read_bytes(&a, h->n_code_bytes),
		      *table = read_bytes(&a, h->n_table_bytes);
	struct code_words words;
	struct bytecode b;

	words.consts = read_words(&a, h->n_consts);
	words.names = read_words(&a, h->n_names);
	words.locals = read_words(&a, h->n_locals);
	words.frees = read_words(&a, h->n_frees);
	bytecode_decode(&a, o, bytes, h->n_code_bytes, table, h->n_table_bytes, &b);
	if (b.n != h->n_instructions) {
		fprintf(stderr, "disassembly: %s: %u instructions expected, %zu got\n", name,
			h->n_instructions, b.n);
		exit(1);
	}
	for (size_t i = 0; i < b.n; i++)
		check_instruction(c, &a, o, name, &b.v[i], &words, h);
	check_handlers(c, name, &b, h->n_handlers);
	c->codes++;
	c->instructions += b.n;
	arena_done(&a);
}

int main(void)
{
	struct counts c = { 0 };
	struct opcodes o;
	uint8_t version[2];
	struct head h;

	read_exactly(version, sizeof version);
	if (!opcodes_init(&o, version[0], version[1]))
		return 2;
	while (fread(&h, sizeof h, 1, stdin) == 1)
		check_code(&c, &o, &h);
	printf("codes=%lu instructions=%lu handlers=%lu without_depth=%lu wrong=%lu\n", c.codes,
		c.instructions, c.handlers, c.without_depth, c.wrong);
	return c.wrong > 0;
}
