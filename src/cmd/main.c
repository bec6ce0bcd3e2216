/* SPDX-License-Identifier: MIT
 * The first word chooses the command; a file's name alone is `report`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/habits.h"
#include "base/banned.h"

/* The command whose name is nearest, NULL where none is near: at most one edit in three letters. */
static const char *find_near(const char *word)
{
	const char *nearest = NULL;
	unsigned best = 3;

	for (size_t i = 0; i < n_commands; i++) {
		size_t n = strlen(commands[i]->name);
		unsigned d = text_distance(word, commands[i]->name);

		if (*commands[i]->group && d < best && d * 3 <= n && d < strlen(word)) {
			best = d;
			nearest = commands[i]->name;
		}
	}
	return nearest;
}

static int unknown(const char *word)
{
	const char *nearest = find_near(word);

	if (nearest)
		output_line(STDERR_FILENO, "leadline: there is no command '%s'; did you mean '%s'?",
			word, nearest);
	else
		output_line(STDERR_FILENO,
			"leadline: there is no command or file '%s'; see 'leadline help'", word);
	return 2;
}

/* What another tool's user types: our command for it, and no more. */
/* "/usr/bin/time -v ls" */
static bool names_command(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && command_find(slash + 1);
}

static void answer_command(char **argv)
{
	struct buf text = BUF_INIT;

	argv[0] = strrchr(argv[0], '/') + 1;
	buf_printf(&text, "leadline: that is 'leadline %s' here:\n  leadline ", argv[0]);
	text_add_command(&text, argv);
	buf_addc(&text, '\n');
	output_write(STDERR_FILENO, &text);
	buf_done(&text);
}

static int answer(const struct habit *h, int argc, char **argv)
{
	struct buf text = BUF_INIT;

	buf_adds(&text, "leadline: ");
	habit_answer(h, argc, argv, &text);
	output_write(STDERR_FILENO, &text);
	buf_done(&text);
	return 2;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool is_file(const char *name)
{
	return access(name, F_OK) == 0;
}

int main(int argc, char **argv)
{
	const struct command *c;
	const struct habit *h;

	log_init(getenv("LEADLINE_LOG"));
	if (argc < 2)
		return command_overview();
	if (is_help(argv[1]))
		return command_help.run(&command_help, argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("leadline " LEADLINE_VERSION);
		return 0;
	}
	c = command_find(argv[1]);
	if (c)
		return c->run(c, argc - 1, argv + 1);
	if (argv[1][0] == '-') {
		output_line(STDERR_FILENO,
			"leadline: unknown option %s before the command; see 'leadline help'",
			argv[1]);
		return 2;
	}
	h = habit_find(argc - 1, argv + 1);
	if (h && (argc > 2 || !is_file(argv[1])))
		return answer(h, argc - 1, argv + 1);
	if (argc > 2 && names_command(argv[1])) {
		answer_command(argv + 1);
		return 2;
	}
	if (is_file(argv[1]) && !text_ends_with(argv[1], ".py"))
		return command_report.run(&command_report, argc, argv);
	if (is_file(argv[1])) {
		output_line(STDERR_FILENO, "leadline: to run it: leadline run %s", argv[1]);
		return 2;
	}
	return unknown(argv[1]);
}
