/* SPDX-License-Identifier: MIT
 * Fuzz target: bytecode. Byte 0 chooses the version, byte 1 is the length of the exception table, which comes first.
 * Besides not crashing: what is found lies inside the code, and taking specialised forms back twice is as once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cpython/argument.h"
#include "cpython/bytecode.h"
#include "cpython/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check(const struct opcodes *o, const struct bytecode *b, size_t n_bytes)
{
	const struct code_words words = { 0 };
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < b->n; i++) {
		require(b->v[i].offset < n_bytes && b->v[i].depth >= -1);
		require(bytecode_at(b, b->v[i].offset) == &b->v[i]);
		argument_format(o, &b->v[i], &words, &text);
	}
	for (size_t i = 0; i < b->n_handlers; i++)
		require(b->handlers[i].end <= n_bytes && b->handlers[i].target < n_bytes);
	buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = ARENA_INIT;
	struct opcodes o;
	struct bytecode b;
	size_t n_table;
	uint8_t *once, *twice;

	if (n < 2)
		return 0;
	require(opcodes_init(&o, 3,
		LAYOUT_FIRST_MINOR + data[0] % (LAYOUT_LAST_MINOR - LAYOUT_FIRST_MINOR + 1)));
	n_table = data[1] < n - 2 ? data[1] : n - 2;
	data += 2;
	n -= 2;
	bytecode_decode(&a, &o, data + n_table, n - n_table, data, n_table, &b);
	check(&o, &b, n - n_table);
	once = arena_copy(&a, data, n);
	if (bytecode_despecialise(&o, once, n)) {
		twice = arena_copy(&a, once, n);
		require(bytecode_despecialise(&o, twice, n) && memcmp(once, twice, n) == 0);
	}
	arena_done(&a);
	return 0;
}
