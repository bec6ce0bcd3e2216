/* SPDX-License-Identifier: MIT
 * What answers at dynolog's port, against anything: the answer is taken apart, and nothing but processes comes out of it. */
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "collect/torch/dynolog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dynolog_answer a = { 0 };
	struct err e = ERR_INIT;

	if (dynolog_parse(data, n, &a, &e) < 0 && (!e.code || !e.text[0]))
		abort();
	if (a.told.n > DYNOLOG_PROCESSES || a.n_known > n)
		abort();
	vec_each (&a.told, pid)
		if (*pid <= 0)
			abort();
	dynolog_done(&a);
	return 0;
}
