/* SPDX-License-Identifier: MIT
 * Prints when the first sample of a recording was taken: CLOCK_MONOTONIC, ns.    first_sample FILE */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "store/tables.h"

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
	if (first)
		printf("%" PRIu64 "\n", first->t_ns);
	record_iter_done(&it);
	tables_free(t);
	reader_close(r);
	return !first;
}
