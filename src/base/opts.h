/* SPDX-License-Identifier: MIT
 *
 * Options of one command as a table: the same rows parse the command line (over getopt_long), print
 * the help, and are walked by completion and the check of the manual. A row says where in the
 * command's own options struct the value goes; that struct holds the defaults before parsing.
 *
 *	struct time_options {
 *		bool json, has_runs;
 *		uint64_t runs;
 *	};
 *
 *	static const struct opt table[] = {
 *		{ .name = "json", .kind = OPT_FLAG, .help = "print JSON",
 *		  .offset = offsetof(struct time_options, json) },
 *		{ .letter = 'n', .name = "runs", .kind = OPT_U64, .value = "N",
 *		  .help = "run N times", .offset = offsetof(struct time_options, runs),
 *		  .given_offset = offsetof(struct time_options, has_runs) },
 *	};
 *	struct time_options o = { .runs = 10 };
 *	int first;
 *
 *	if (opts_parse(table, 2, &o, argc, argv, true, &first, e) < 0)
 *		return ...;
 *	argv[first] ... are the operands
 *
 * Strings stored are borrowed from argv. An option given twice: the last one counts (but for lists).
 * Long options may be shortened as long as they stay clear, "--" ends the options.
 *
 * -h and --help are known everywhere, before and after anything of ours, and in spite of mistakes: ERR_HELP, for which
 * command_fail prints the help of the command. So no table has a letter h.
 *
 * Errors are ERR_USAGE (but for OPT_NOT_BUILT) and one line, which begins with argv[0]:
 *	time: unknown option --jsno; did you mean --json?
 *	time: --interval wants a time such as 100ms, not 'x'
 *
 * Not thread-safe: getopt_long keeps its place in globals of libc, which are reset on each call. */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum opt_kind {
	OPT_FLAG,     /* bool, becomes true */
	OPT_STRING,   /* const char * */
	OPT_LIST,     /* struct opt_list: every time it is given, in order */
	OPT_PAIRS,    /* struct opt_list: the same, of two words each time; value: "NAME VALUES" */
	OPT_TRIPLES,  /* struct opt_list: the same, of three */
	OPT_U64,      /* uint64_t; as text_parse_u64: "100", "10k" */
	OPT_DURATION, /* uint64_t, nanoseconds; as text_parse_duration_ns: "100ms", "2" */
	OPT_CHOICE,   /* int, index in choices */
	/* Of other tools: no part of the help, and no target. Flags, whatever stands behind '='. */
	OPT_ANYWAY,    /* what it asks for is always so */
	OPT_INSTEAD,   /* ERR_USAGE, "--NAME: " and the help: what to type */
	OPT_NOT_BUILT, /* the same, ERR_NOT_BUILT */
};

enum { OPT_LIST_MOST = 64 };

struct opt_list {
	const char *v[OPT_LIST_MOST]; /* borrowed */
	size_t n;
};

struct opt {
	char letter;      /* 0: none */
	const char *name; /* long, may be NULL where there is a letter */
	enum opt_kind kind;
	const char *value;   /* placeholder in help, NULL for flags */
	bool optional_value; /* only with '=', never after the letter; without: target kept */
	const char *help;    /* one sentence, no full stop */
	const char *heading; /* in the help, above this row and those after it; NULL: none */
	size_t offset;       /* of the target field in the command's options struct */
	size_t given_offset; /* of a bool set when present, never the first field; 0: none */
	const char *const *choices; /* for OPT_CHOICE, ended by NULL */
};

/* Parses argv[1] and on; argv[0] is the name of the command. Operands are moved behind the options,
 * unless stop_at_first_operand: then the first operand ends the options, and the rest belongs to
 * the program being run. On failure `options` may be partly filled. */
int opts_parse(const struct opt *table, size_t n, void *options, int argc, char **argv,
	bool stop_at_first_operand, int *ret_first_operand, struct err *e);

/* Whether a row's option is there, where none is the same as 0 (of choices: the first). */
bool opts_is_given(const struct opt *row, const void *options);

/* ERR_USAGE, "--NAME does not apply to WHAT", for the first of these options (NULL ends them) that is given. */
int opts_refuse(const struct opt *table, size_t n, const void *options, const char *const *names,
	const char *what, struct err *e);

/* Appends one aligned entry for each row, help wrapped to `width` columns, under the headings that rows have. */
void opts_help(const struct opt *table, size_t n, struct buf *out, size_t width);

#endif
