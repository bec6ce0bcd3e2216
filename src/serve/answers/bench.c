/* SPDX-License-Identifier: MIT
 * Answer "bench": the benchmark results that are open, the oldest first, so that they are a history. */
#include <stdlib.h>

#include "base/err.h"
#include "formats/results.h"
#include "json/results.h"
#include "serve/answers/parts.h"
#include "serve/library.h"
#include "base/banned.h"

static int by_time(const void *a, const void *b)
{
	const struct results *const *x = a, *const *y = b;

	if ((*x)->begun_s != (*y)->begun_s)
		return (*x)->begun_s < (*y)->begun_s ? -1 : 1;
	return *x < *y ? -1 : 1; /* as they were named */
}

int answer_bench(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	const struct results **order;
	size_t n = l->results.n;

	(void)p;
	if (!n)
		return err_set(e, ERR_UNSUPPORTED,
			"no benchmark results are open: leadline view results.json");
	order = xcalloc(n, sizeof *order);
	for (size_t i = 0; i < n; i++)
		order[i] = &l->results.v[i];
	qsort(order, n, sizeof *order, by_time);
	json_key(w, "files");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_object_begin(w);
		results_json(order[i], w);
		json_object_end(w);
	}
	json_array_end(w);
	free(order);
	return 0;
}
