/* SPDX-License-Identifier: MIT
 * `diff` of two PyTorch traces, or recordings that hold operators. */
#ifndef CMD_DIFF_OPS_H
#define CMD_DIFF_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/torch/diff.h"
#include "cmd/command.h"

struct diff_ops {
	struct output output;
	enum ops_diff_scale scale;
	bool json;
	size_t limit; /* SIZE_MAX: all */
};

/* False and nothing shown where either file holds no operators, or stacks as well, unless operators were asked for: then that is
 * an error. */
bool diff_ops(const struct command *self, char *const files[2], const struct diff_ops *o,
	bool is_asked, int *ret_status);

#endif
