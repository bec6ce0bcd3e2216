/* SPDX-License-Identifier: MIT
 * Holds src/cpython/linetable.c against an interpreter: positions [--print] <dump
 *
 * The dump, made inside that interpreter (tests/e2e/test_linetable.py), is its version (2 bytes:
 * major, minor), then for every code object: 6 × u32 (see struct head), its name, its line table,
 * and runs of code units with the position that the interpreter itself gives them. Every unit is
 * compared. Prints the first differences and one line of counts, with --print every position too.
 * Exit status: 0 all agree, 1 not all, 2 the dump cannot be read. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "cpython/linetable.h"

enum { SHOWN = 20, MAX_BYTES = 1 << 28 };

struct head {
	uint32_t first_line, n_code_bytes, n_name_bytes, n_table_bytes;
	uint32_t n_runs;
	uint32_t n_instructions; /* fewer than units: caches are not instructions */
};

struct run {
	uint32_t n_units;
	struct position position;
};

struct counts {
	unsigned long codes, instructions, units, without_line, wrong;
	uint32_t largest_table, largest_code;
};

static void read_exactly(void *to, size_t n)
{
	if (fread(to, 1, n, stdin) == n)
		return;
	fprintf(stderr, "positions: the dump ends early\n");
	exit(2);
}

static void *read_bytes(struct arena *a, size_t n)
{
	void *p;

	if (n > MAX_BYTES) {
		fprintf(stderr, "positions: the dump is damaged\n");
		exit(2);
	}
	p = arena_alloc(a, n + 1);
	read_exactly(p, n);
	return p;
}

static void print_position(const char *before, struct position p)
{
	printf("%s%d-%d:%d-%d", before, p.line, p.end_line, p.column, p.end_column);
}

static void compare(struct counts *c, const char *name, uint32_t unit, struct position want,
	struct position got)
{
	c->units++;
	c->without_line += want.line < 0;
	if (memcmp(&want, &got, sizeof got) == 0 || c->wrong++ >= SHOWN)
		return;
	printf("%s at %u:", name, 2 * unit);
	print_position(" expected ", want);
	print_position(" got ", got);
	printf("\n");
}

static void print_all(const char *name, const struct linetable *t)
{
	printf("%s\n", name);
	for (uint32_t i = 0; i < t->n_units; i++) {
		printf("%8u", 2 * i);
		print_position(" ", t->at[i]);
		printf("\n");
	}
}

static void check_code(
	struct counts *c, enum linetable_format format, const struct head *h, bool want_print)
{
	struct arena a = ARENA_INIT;
	const char *name = read_bytes(&a, h->n_name_bytes);
	const void *table = read_bytes(&a, h->n_table_bytes);
	struct err e = ERR_INIT;
	struct linetable t;
	uint32_t unit = 0;

	if (linetable_decode(&a, format, table, h->n_table_bytes, h->first_line, h->n_code_bytes,
		    &t, &e) < 0 &&
		c->wrong++ < SHOWN)
		printf("%s: %s\n", name, e.text);
	if (want_print)
		print_all(name, &t);
	for (uint32_t i = 0; i < h->n_runs; i++) {
		struct run run;

		read_exactly(&run, sizeof run);
		for (uint32_t end = unit + run.n_units; unit < end; unit++)
			compare(c, name, unit, run.position, linetable_get(&t, 2 * unit));
	}
	if ((unit != t.n_units || unit != h->n_code_bytes / 2) && c->wrong++ < SHOWN)
		printf("%s: %u units expected, %u got, of %u bytes\n", name, unit, t.n_units,
			h->n_code_bytes);
	arena_done(&a);
}

int main(int argc, char **argv)
{
	bool want_print = argc > 1 && strcmp(argv[1], "--print") == 0;
	struct counts c = { 0 };
	uint8_t version[2];
	struct head h;

	read_exactly(version, sizeof version);
	while (fread(&h, sizeof h, 1, stdin) == 1) {
		check_code(&c, linetable_format_for(version[0], version[1]), &h, want_print);
		c.codes++;
		c.instructions += h.n_instructions;
		if (c.largest_table < h.n_table_bytes)
			c.largest_table = h.n_table_bytes;
		if (c.largest_code < h.n_instructions)
			c.largest_code = h.n_instructions;
	}
	printf("codes=%lu instructions=%lu units=%lu without_line=%lu largest_table=%u "
	       "largest_code=%u wrong=%lu\n",
		c.codes, c.instructions, c.units, c.without_line, c.largest_table, c.largest_code,
		c.wrong);
	return c.wrong > 0;
}
