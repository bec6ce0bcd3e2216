/* SPDX-License-Identifier: MIT
 * The first word chooses the command; a file's name alone is `report`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "base/banned.h"

static int unknown(const char *word)
{
	const char *nearest = NULL;
	unsigned best = 3;

	for (size_t i = 0; i < n_commands; i++) {
		unsigned d = text_distance(word, commands[i]->name);

		if (*commands[i]->group && d < best && d < strlen(commands[i]->name)) {
			best = d;
			nearest = commands[i]->name;
		}
	}
	if (nearest)
		output_line(STDERR_FILENO, "leadline: there is no command '%s'; did you mean '%s'?",
			word, nearest);
	else
		output_line(STDERR_FILENO,
			"leadline: there is no command or file '%s'; see 'leadline help'", word);
	return 2;
}

int main(int argc, char **argv)
{
	const struct command *c;

	log_init(getenv("LEADLINE_LOG"));
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return command_overview();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("leadline " LEADLINE_VERSION);
		return 0;
	}
	c = command_find(argv[1]);
	if (c && argc > 2 && strcmp(argv[2], "--help") == 0)
		return command_usage(c);
	if (c)
		return c->run(c, argc - 1, argv + 1);
	if (argv[1][0] == '-') {
		output_line(STDERR_FILENO,
			"leadline: unknown option %s before the command; see 'leadline help'",
			argv[1]);
		return 2;
	}
	if (access(argv[1], F_OK) == 0)
		return command_report.run(&command_report, argc, argv);
	return unknown(argv[1]);
}
