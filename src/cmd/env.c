/* SPDX-License-Identifier: MIT
 * leadline env: the variables a job script sets so that leadline can do more with the job later. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/opts.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "base/banned.h"

struct options {
	bool torch;
};

static const struct opt options_table[] = {
	{ .name = "torch",
		.kind = OPT_FLAG,
		.help = "let leadline attach --torch ask the job for traces",
		.offset = offsetof(struct options, torch) },
};

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct err e = ERR_INIT;
	int first;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	if (first < argc)
		err_set(&e, ERR_USAGE, "env takes no operands; for example: leadline env --torch");
	else if (!o.torch)
		err_set(&e, ERR_USAGE, "nothing to set up; for example: leadline env --torch");
	if (e.code)
		return command_fail(self, &e);
	output_line(STDOUT_FILENO, "export KINETO_USE_DAEMON=1");
	return 0;
}

const struct command command_env = {
	.group = "where",
	.name = "env",
	.arguments = "--torch",
	.summary = "Print the variables that let a job be traced on demand",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  eval \"$(leadline env --torch)\"; torchrun train.py &\n"
		    "  leadline attach --torch torchrun\n",
	.run = run,
};
