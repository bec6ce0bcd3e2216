/* SPDX-License-Identifier: MIT
 *
 * Commands: one file (cmd/NAME.c) and one row in commands.def. `leadline help`, the man page check
 * and did-you-mean loop over the table. Only cmd/ talks to the user and decides exit statuses. */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opts.h"

struct arena;
struct buf;
struct err;
struct reader;

struct command {
	const char *group; /* heading in help: "where", "why", "look", "prove", "help" */
	const char *name;
	const char *alias;     /* NULL, or another name it answers to */
	const char *arguments; /* "[options] CMD…" */
	const char *summary;   /* one sentence */
	const struct opt *options;
	size_t n_options;
	bool runs_program;    /* failures of ours exit with 125 instead of the error's own status */
	const char *examples; /* lines to type, each ended by \n */
	/* argv[0] is the command's name. Returns the exit status. */
	int (*run)(const struct command *self, int argc, char **argv);
};

extern const struct command *const commands[];
extern const size_t n_commands;

/* Finds by name or alias; NULL when there is none. */
const struct command *command_find(const char *name);

/* Prints "leadline: NAME: text" and the advice to stderr; returns the exit status for it. ERR_HELP: the help of the command, on
 * stdout. */
int command_fail(const struct command *self, const struct err *e);

/* Prints `leadline help` and `leadline help NAME` to stdout; return the exit status. */
int command_overview(void);
int command_usage(const struct command *self);

/* What every command that prints a table shares. */
struct output {
	bool colour;  /* NO_COLOR, --color and the terminal decided */
	size_t width; /* columns (base/tty.h); TEXT_UNBOUNDED off a terminal */
};

/* fd: where the result goes; -1: a file. choice: of --color, COLOR_AUTO … */
enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
extern const char *const color_choices[]; /* for struct opt; NULL-terminated */
struct output output_for(int fd, int color_choice);

/* The rule for every file that a user names: one that is there already is written over with --force alone. Asked before anything
 * is measured; ERR_SYSTEM names --force. Devices, pipes and NULL are no files. */
int output_may_write(const char *path, bool force, struct err *e);
#define OUTPUT_FORCE(field)                                                            \
	{                                                                              \
		.name = "force", .kind = OPT_FLAG, .help = "overwrite existing files", \
		.offset = field                                                        \
	}

/* Tells on stderr what is missing of a file: text as damage_describe has it, "" for one that is whole. */
void command_tell_missing(const char *path, const char *text);
/* The same of a recording whose records were read: checks the rest of it. Returns the text, in the arena; "" when it is whole. */
const char *command_tell_damage(struct arena *a, struct reader *r, const char *path);

/* Writes to stdout or stderr; a closed pipe ends the tool quietly. Returns the exit status. Whoever quotes a program makes that
 * printable (text_add_printable); what else would do something to a terminal, but for line ends, tabs and our colours, is made so here. Where
 * the locale is not UTF-8, signs become ASCII (base/ascii.h). */
int output_write(int fd, const struct buf *text);
/* One line, all of it made printable; the line end is added. */
int output_line(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
