/* SPDX-License-Identifier: MIT
 * See basic_blocks.h. */
#include "agent/lines/basic_blocks.h"

#include "agent/core/compat.h"

struct blocks {
	unsigned char *begins;
	uint32_t n_units;
};

static void begin_at(struct blocks *b, int64_t unit)
{
	if (unit >= 0 && unit < b->n_units)
		b->begins[unit >> 3] |= (unsigned char)(1 << (unit & 7));
}

/* The unit behind an instruction and its caches, which are zeros in code as compiled. */
static uint32_t behind(const unsigned char *code, uint32_t n_units, uint32_t unit)
{
	for (unit++; unit < n_units && code[2 * unit] == CACHE; unit++)
		;
	return unit;
}

static void find_jumps(struct blocks *b, const unsigned char *code)
{
	uint32_t arg = 0;

	for (uint32_t unit = 0, next; unit < b->n_units; unit = next) {
		int op = code[2 * unit];
		enum compat_flow flow = compat_flow_of(op);

		arg = arg << 8 | code[2 * unit + 1];
		next = behind(code, b->n_units, unit);
		if (flow != COMPAT_FLOW_ON)
			begin_at(b, next);
		if (flow == COMPAT_FLOW_BACK)
			begin_at(b, (int64_t)next - arg);
		/* Loops that end may skip what cleans up after them. */
		for (uint32_t at = next + arg, i = 0; flow == COMPAT_FLOW_JUMP && i < 3; i++) {
			begin_at(b, at);
			at = at < b->n_units ? behind(code, b->n_units, at) : at;
		}
		if (op != EXTENDED_ARG)
			arg = 0;
	}
}

/* A number of the table: six bits a byte, bit 6 says that more follow. Bit 7 marks the first of an entry. */
static uint32_t number(const unsigned char **p, const unsigned char *end)
{
	uint32_t value = 0, byte;

	do {
		byte = *p < end ? *(*p)++ : 0;
		value = value << 6 | (byte & 63);
	} while (byte & 64);
	return value;
}

static void find_handlers(struct blocks *b, const unsigned char *p, uint32_t n)
{
	const unsigned char *end = p + n;

	while (p < end) {
		number(&p, end); /* from */
		number(&p, end); /* how many */
		begin_at(b, number(&p, end));
		number(&p, end); /* depth */
	}
}

void basic_blocks_find(const unsigned char *code, uint32_t n_units, const unsigned char *handlers,
	uint32_t n_handlers, unsigned char *ret_begins)
{
	struct blocks b = { ret_begins, n_units };

	begin_at(&b, 0);
	find_jumps(&b, code);
	find_handlers(&b, handlers, n_handlers);
}
