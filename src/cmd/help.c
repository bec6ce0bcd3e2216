/* SPDX-License-Identifier: MIT
 * leadline help: the command table, one command, or a word explained. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advise/pages.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/habits.h"
#include "cmd/terms.h"
#include "base/banned.h"

static void add_groups(struct buf *text)
{
	static const struct {
		const char *name, *question;
	} groups[] = {
		{ "where", "Where is it slow?" },
		{ "why", "Why is it slow there?" },
		{ "look", "Look at the result" },
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

/* All that can be explained, in lines of one width. */
static void add_words(struct buf *text)
{
	struct buf words = BUF_INIT;
	size_t used = 0, width = text_prose_width(output_for(STDOUT_FILENO, COLOR_AUTO).width);

	for (size_t i = 0; i < n_terms; i++)
		buf_printf(&words, "%s ", terms[i].word);
	buf_adds(&words,
		"\n"
		"and the commands of other tools: ");
	for (size_t i = 0; i < n_habits; i++)
		if (!habits[i].word)
			buf_printf(&words, "%.*s ", (int)strcspn(habits[i].names, " "),
				habits[i].names);
	buf_adds(&words,
		"\n"
		"and each rule that 'report --overview' names for a PyTorch trace.");
	for (const char *at = buf_str(&words); *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " \n"), columns = text_width_n(at, n);

		if (used + 1 + columns > width && used) {
			buf_addc(text, '\n');
			used = 0;
		}
		if (n) {
			buf_adds(text, used ? " " : "  ");
			buf_add(text, at, n);
			used += columns + (used ? 1 : 2);
		}
		at += n;
		if (*at == '\n') {
			buf_addc(text, '\n');
			used = 0;
			at++;
		}
	}
	buf_addc(text, '\n');
	buf_done(&words);
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
		"\n"
		"'leadline help COMMAND' shows its options, 'leadline help TERM' explains a term:\n");
	add_words(&text);
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

static int explain_habit(const struct habit *h, int argc, char **argv)
{
	struct buf text = BUF_INIT;
	int status;

	habit_answer(h, argc, argv, &text);
	status = output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	const struct command *c;
	const struct habit *h;
	const struct term *t;
	const char *page;
	struct err e = ERR_INIT;

	if (argc < 2)
		return command_overview();
	c = strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ? self
									 : command_find(argv[1]);
	if (c)
		return command_usage(c);
	t = term_find(argv[1]);
	page = advice_page_find(argv[1]);
	if (t || page)
		return explain(t ? t->text : page);
	h = habit_find(argc - 1, argv + 1);
	if (h)
		return explain_habit(h, argc - 1, argv + 1);
	err_set(&e, ERR_USAGE, "there is no command or term '%s'", argv[1]);
	return command_fail(self, &e);
}

const struct command command_help = {
	.group = "help",
	.name = "help",
	.arguments = "[COMMAND or TERM]",
	.summary = "Show help for commands, options and terms",
	.examples = "  leadline help time\n"
		    "  leadline help exit\n",
	.run = run,
};
