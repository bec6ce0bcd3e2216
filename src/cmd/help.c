/* SPDX-License-Identifier: MIT
 * leadline help: the command table, one command, or a word explained. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/op_pages.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/terms.h"
#include "base/banned.h"

static void add_groups(struct buf *text)
{
	static const struct {
		const char *name, *question;
	} groups[] = {
		{ "where", "Where is it slow?" },
		{ "why", "Why is it slow there?" },
		{ "look", "Look at it" },
		{ "prove", "Did it help?" },
		{ "help", "Help" },
	};

	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
		bool is_first = true;

		for (size_t i = 0; i < n_commands; i++) {
			if (strcmp(commands[i]->group, groups[g].name) != 0)
				continue;
			if (is_first)
				buf_printf(text, "\n%s\n", groups[g].question);
			is_first = false;
			buf_printf(text, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
		}
	}
}

int command_overview(void)
{
	struct buf text = BUF_INIT;
	int status;

	buf_adds(&text,
		"leadline: where a Python program is slow, why, and whether a change helped\n\n"
		"  leadline COMMAND [options] …\n");
	add_groups(&text);
	buf_adds(&text,
		"\n'leadline help COMMAND' tells the options of one, 'leadline help WORD' "
		"explains:\n ");
	for (size_t i = 0; i < n_terms; i++)
		buf_printf(&text, " %s", terms[i].word);
	buf_adds(&text, "\nand each rule that 'report --overview' names for a trace of PyTorch.\n");
	status = output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}

static int explain(const char *words)
{
	struct buf text = BUF_INIT;
	int status;

	buf_printf(&text, "%s%s", words, text_ends_with(words, "\n") ? "" : "\n");
	status = output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	const struct command *c;
	const struct term *t;
	const char *page;
	struct err e = ERR_INIT;

	if (argc < 2)
		return command_overview();
	c = command_find(argv[1]);
	if (c)
		return command_usage(c);
	t = term_find(argv[1]);
	page = op_page_find(argv[1]);
	if (t || page)
		return explain(t ? t->text : page);
	err_set(&e, ERR_USAGE, "there is no command or word '%s'", argv[1]);
	return command_fail(self, &e);
}

const struct command command_help = {
	.group = "help",
	.name = "help",
	.arguments = "[COMMAND or WORD]",
	.summary = "Tell the commands, the options of one, or what a word means",
	.examples = "  leadline help time\n"
		    "  leadline help exit\n",
	.run = run,
};
