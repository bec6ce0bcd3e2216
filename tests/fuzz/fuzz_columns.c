/* SPDX-License-Identifier: MIT
 * Fuzz target: the column codec. The first byte chooses the kind, the next two the number of
 * records; what decodes must encode and decode to the same again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/columns.h"
#include "wire/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct record_type *type = n > 3 ? record_type_find(data[0]) : NULL;
	struct arena a = ARENA_INIT;
	struct buf raw = BUF_INIT;
	struct err e = ERR_INIT;
	void *records, *again;
	size_t count;

	if (!type)
		return 0;
	count = (size_t)data[1] | (size_t)data[2] << 8;
	if (columns_decode(type, data + 3, n - 3, count, &a, &records, &e) == 0) {
		columns_encode(type, records, count, &raw);
		if (columns_decode(type, raw.data, raw.n, count, &a, &again, &e) < 0)
			abort();
	}
	buf_done(&raw);
	arena_done(&a);
	return 0;
}
