/* SPDX-License-Identifier: MIT
 * All commands, as commands.def lists them. */
#include "cmd/command.h"
#include "cmd/commands.h"

#include <string.h>

#include "base/banned.h"

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cmd/commands.def"
#undef COMMAND
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
