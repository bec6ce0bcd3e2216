/* SPDX-License-Identifier: MIT
 * The rows of registry.c, each defined in its own file. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

extern const struct command command_attach, command_bench, command_compare, command_diff,
	command_doctor, command_dump, command_env, command_export, command_help, command_host,
	command_lines, command_report, command_run, command_stats, command_time, command_top,
	command_view;

#endif
