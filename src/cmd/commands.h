/* SPDX-License-Identifier: MIT
 * The rows of commands.def, each defined in its own file. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#define COMMAND(name) extern const struct command command_##name;
#include "cmd/commands.def"
#undef COMMAND

#endif
