/* SPDX-License-Identifier: MIT
 *
 * What a recording is made of, as JSON: when its first sample was taken (CLOCK_MONOTONIC, ns) and how many bytes of
 * the file each kind of record takes.
 *
 *	contents FILE */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "store/tables.h"

enum { KINDS_MOST = 256 };

static void print_bytes(const struct reader *r)
{
	uint64_t bytes[KINDS_MOST] = { 0 };
	const char *comma = "";

	for (size_t i = 0; i < r->n_chunks; i++) {
		uint64_t end = i + 1 < r->n_chunks ? r->chunks[i + 1].offset : r->size_bytes;

		if (r->chunks[i].kind < KINDS_MOST)
			bytes[r->chunks[i].kind] += end - r->chunks[i].offset;
	}
	printf("\"bytes\": {");
	for (uint32_t kind = 0; kind < KINDS_MOST; kind++) {
		const struct record_type *type = record_type_find(kind);

		if (type && bytes[kind]) {
			printf("%s\"%s\": %" PRIu64, comma, type->name, bytes[kind]);
			comma = ", ";
		}
	}
	printf("}");
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct reader *r;
	struct tables *t;
	struct record_iter it;
	const struct rec_sample *first;

	if (argc != 2 || reader_open(&r, argv[1], &e) < 0 || tables_load(&t, r, &e) < 0)
		return 1;
	it = record_iter(t, RECORD_sample);
	first = record_next(&it);
	printf("{\"first_sample_ns\": %" PRIu64 ", ", first ? first->t_ns : 0);
	print_bytes(r);
	printf("}\n");
	record_iter_done(&it);
	tables_free(t);
	reader_close(r);
	return 0;
}
