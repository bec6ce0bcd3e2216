/* SPDX-License-Identifier: MIT
 *
 * What `bench` and `compare` time: a statement, a function of a module, or a command. One word of the user's becomes one
 * subject; options that belong to all of them stand in subject_options, which both commands put first in their own. */
#ifndef CMD_SUBJECT_H
#define CMD_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opts.h"
#include "base/vec.h"
#include "bench/commandline.h"
#include "bench/parameters.h"
#include "bench/statement.h"

struct arena;
struct err;

struct subject_options {
	struct opt_list setup; /* lines of Python, or of the shell for commands */
	struct opt_list python;
	const char *shell, *prepare, *conclude, *cleanup, *input;
	bool no_shell, ignore_failure, show_output, gc, process_time, has_cpu;
	uint64_t cpu;
	int sync; /* enum subject_sync */
};

enum subject_sync { SUBJECT_SYNC_NONE, SUBJECT_SYNC_TORCH };
extern const char *const subject_syncs[]; /* their names */

#define SUBJECT_FIELD(f) offsetof(struct subject_options, f)
#define SUBJECT_STRING(its_letter, its_name, its_value, words, field)                           \
	{                                                                                       \
		.letter = its_letter, .name = its_name, .kind = OPT_STRING, .value = its_value, \
		.help = words, .offset = SUBJECT_FIELD(field)                                   \
	}
#define SUBJECT_FLAG(its_letter, its_name, words, field)                                 \
	{                                                                                \
		.letter = its_letter, .name = its_name, .kind = OPT_FLAG, .help = words, \
		.offset = SUBJECT_FIELD(field)                                           \
	}
/* The rows of all of them. */
#define SUBJECT_OPTIONS                                                                            \
	{ .letter = 's',                                                                           \
		.name = "setup",                                                                   \
		.kind = OPT_LIST,                                                                  \
		.value = "CODE",                                                                   \
		.help = "run once beforehand: Python for statements, shell for commands; may be "  \
			"repeated",                                                                \
		.offset = SUBJECT_FIELD(setup) },                                                  \
		{ .name = "python",                                                                \
			.kind = OPT_LIST,                                                          \
			.value = "EXE",                                                            \
			.help = "interpreter for statements; compare takes two",                   \
			.offset = SUBJECT_FIELD(python) },                                         \
		SUBJECT_FLAG(                                                                      \
			'p', "process", "measure CPU time instead of wall time", process_time),    \
		SUBJECT_FLAG(0, "gc", "leave garbage collection on (timeit turns it off)", gc),    \
		{ .name = "sync",                                                                  \
			.kind = OPT_CHOICE,                                                        \
			.value = "WHAT",                                                           \
			.help = "wait for the GPU once per batch of a statement",                  \
			.offset = SUBJECT_FIELD(sync),                                             \
			.choices = subject_syncs },                                                \
		SUBJECT_STRING(0, "prepare", "CMD",                                                \
			"shell command to run before each run of a command", prepare),             \
		SUBJECT_STRING(                                                                    \
			0, "conclude", "CMD", "shell command to run after each run", conclude),    \
		SUBJECT_STRING(                                                                    \
			0, "cleanup", "CMD", "shell command to run after all runs", cleanup),      \
		SUBJECT_FLAG('N', "no-shell", "start -c commands without a shell", no_shell),      \
		SUBJECT_STRING('S', "shell", "SHELL",                                              \
			"shell for -c commands (default: /bin/sh); its start-up time is "          \
			"subtracted",                                                              \
			shell),                                                                    \
		SUBJECT_FLAG('i', "ignore-failure",                                                \
			"also measure commands that exit with a non-zero status", ignore_failure), \
		SUBJECT_STRING(                                                                    \
			0, "input", "FILE", "standard input of commands (default: empty)", input), \
		SUBJECT_FLAG(0, "show-output", "show what is printed (default: discard it)",       \
			show_output),                                                              \
	{                                                                                          \
		.name = "pin", .kind = OPT_U64, .value = "CPU", .help = "run on this CPU only",    \
		.offset = SUBJECT_FIELD(cpu), .given_offset = SUBJECT_FIELD(has_cpu)               \
	}

struct subject {
	bool is_command;
	const char *name;
	struct statement statement;
	struct commandline command;
	const struct subject_options *options; /* borrowed: what it was made with */
	const struct series_parameter *parameters;
	size_t n_parameters;
};

/* The same options with the values of parameters in their texts; in the arena. */
const struct subject_options *subject_options_fill(const struct subject_options *o, struct arena *a,
	const struct series_parameter *v, size_t n);

/* Options given to the next three are borrowed by the subject.
 *
 * A statement, MODULE:FUNCTION, or the name of an existing .py file (then a command). python: of --python; NULL: the first
 * of them, else what `run` would take. */
int subject_parse(struct subject *ret, const struct subject_options *o, const char *word,
	const char *python, struct arena *a, struct err *e);
/* A command for a shell, or with --no-shell split into words. shell_s: what the shell takes by itself. */
int subject_parse_command(struct subject *ret, const struct subject_options *o, const char *text,
	double shell_s, struct arena *a, struct err *e);
/* Words of a command, as behind "--". They are borrowed. */
void subject_take_words(
	struct subject *ret, const struct subject_options *o, char *const *words, struct arena *a);

/* Whether a program of that name is on the PATH. */
bool subject_is_program(const char *name);
/* A statement that failed may have been meant as a command: adds to the error what to write then. */
void subject_note_command(const struct subject *s, struct err *e);

/* Whether --pin names a CPU that we may run on. */
int subject_check(const struct subject_options *o, struct err *e);

/* What the shell of -c takes; 0 without one. */
int subject_shell_time(const struct subject_options *o, double *ret_s, struct err *e);

/* --setup and --cleanup of commands. */
int subject_before(const struct subject_options *o, struct err *e);
int subject_after(const struct subject_options *o, struct err *e);

#endif
