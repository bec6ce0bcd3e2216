/* SPDX-License-Identifier: MIT
 * `report --distributed`: the traces of a job's ranks side by side. */
#ifndef CMD_REPORT_RANKS_H
#define CMD_REPORT_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/command.h"

struct report_ranks {
	struct output output;
	bool json;
	size_t limit; /* SIZE_MAX: all */
};

/* paths: files and folders, ended by NULL. Returns the exit status. */
int report_ranks(const struct command *self, char **paths, const struct report_ranks *o);

#endif
