/* SPDX-License-Identifier: MIT
 * Fuzz target: what programs with PyTorch send to whom they take for their daemon. A request has a process, and is none when it is cut. */
#include <stdint.h>
#include <stdlib.h>

#include "collect/torch/kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct kineto_message m, part;

	if (!kineto_parse(data, n, &m))
		return 0;
	if ((m.kind == KINETO_REQUEST && m.own_pid <= 0) ||
		(m.kind != KINETO_REQUEST && m.wants_trace))
		abort();
	if (n && kineto_parse(data, n - 1, &part))
		abort();
	return 0;
}
