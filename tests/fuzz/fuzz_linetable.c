/* SPDX-License-Identifier: MIT
 * Fuzz target: line tables. Byte 0 chooses the format, 1 … 2 are the first line, 3 … 4 the length
 * of the code. Besides not crashing: what is read before a fault does not depend on what follows,
 * so a table that is cut gives the same positions as far as it gives any. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "cpython/linetable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check(const struct linetable *t, uint32_t n_code_bytes)
{
	require(t->n_units <= n_code_bytes / 2);
	for (uint32_t i = 0; i < t->n_units; i++) {
		const struct position *p = &t->at[i];

		require(p->line >= -1 && p->end_line >= -1);
		require(p->column >= -1 && p->end_column >= -1);
		require(p->end_line == -1 || p->end_line >= p->line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum linetable_format format = n < 5 ? 0 : (enum linetable_format)(data[0] % 4u);
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct linetable whole, part;
	uint32_t first_line, n_code_bytes;
	int status;

	if (n < 5)
		return 0;
	first_line = data[1] | (uint32_t)data[2] << 8;
	n_code_bytes = data[3] | (uint32_t)data[4] << 8;
	status =
		linetable_decode(&a, format, data + 5, n - 5, first_line, n_code_bytes, &whole, &e);
	require(status == 0 || (status == -ERR_BAD_FILE && e.text[0]));
	check(&whole, n_code_bytes);
	linetable_decode(&a, format, data + 5, (n - 5) / 2, first_line, n_code_bytes, &part, &e);
	check(&part, n_code_bytes);
	/* LNOTAB's last line lasts until the end, so there a cut may show */
	for (uint32_t i = 0; format != LINETABLE_LNOTAB && i < part.n_units; i++)
		require(part.at[i].line == -1 ||
			memcmp(&part.at[i], &whole.at[i], sizeof *part.at) == 0);
	arena_done(&a);
	return 0;
}
