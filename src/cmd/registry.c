/* SPDX-License-Identifier: MIT
 * All commands, in the order of `leadline help`: group by group, along a user's questions. */
#include "cmd/command.h"
#include "cmd/commands.h"

#include <string.h>

#include "base/banned.h"

const struct command *const commands[] = {
	&command_run,
	&command_attach,
	&command_top,
	&command_dump,
	&command_lines,
	&command_time,
	&command_env,
	&command_report,
	&command_view,
	&command_export,
	&command_stats,
	&command_diff,
	&command_bench,
	&command_compare,
	&command_doctor,
	&command_help,
	&command_host,
};
const size_t n_commands = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (strcmp(commands[i]->name, name) == 0 ||
			(commands[i]->alias && strcmp(commands[i]->alias, name) == 0))
			return commands[i];
	return NULL;
}
