/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/opts.h"

struct options {
	bool json, quiet;
	bool has_report, has_runs;
	const char *output, *report;
	uint64_t runs, interval_ns;
	int sort;
};

static const char *const sorts[] = { "name", "time", "calls", NULL };

#define AT(field) offsetof(struct options, field)

static const struct opt table[] = {
	{ .letter = 'j',
		.name = "json",
		.kind = OPT_FLAG,
		.help = "print JSON",
		.offset = AT(json) },
	{ .letter = 'q', .kind = OPT_FLAG, .help = "say nothing", .offset = AT(quiet) },
	{ .letter = 'o',
		.name = "output",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "write the result to FILE instead of the terminal",
		.offset = AT(output) },
	{ .name = "interval",
		.kind = OPT_DURATION,
		.value = "TIME",
		.help = "sample every TIME",
		.offset = AT(interval_ns) },
	{ .letter = 'n',
		.name = "runs",
		.kind = OPT_U64,
		.value = "N",
		.help = "run N times",
		.offset = AT(runs),
		.given_offset = AT(has_runs) },
	{ .letter = 'r',
		.name = "report",
		.kind = OPT_STRING,
		.value = "FILE",
		.optional_value = true,
		.help = "write a page",
		.offset = AT(report),
		.given_offset = AT(has_report) },
	{ .letter = 's',
		.name = "sort",
		.kind = OPT_CHOICE,
		.value = "KEY",
		.help = "sort by",
		.offset = AT(sort),
		.choices = sorts },
	{ .name = "interpreter",
		.kind = OPT_STRING,
		.value = "PATH",
		.help = "run with PATH",
		.offset = AT(output) },
};
enum { N = sizeof table / sizeof *table, WORDS = 16 };

struct result {
	struct options o;
	struct err e;
	int status, first;
	char *argv[WORDS + 1]; /* as permuted; words are owned by `text` */
	char text[256];
};

/* Parses a command line of words divided by single blanks. */
static void parse_words(struct result *r, const char *line, bool stop)
{
	int argc = 0;
	char *at = r->text;

	*r = (struct result){ .first = -1, .o.runs = 5, .o.report = "default" };
	assert_true(strlen(line) < sizeof r->text);
	memcpy(r->text, line, strlen(line) + 1);
	while (at && argc < WORDS) {
		r->argv[argc++] = at;
		at = strchr(at, ' ');
		if (at)
			*at++ = '\0';
	}
	r->status = opts_parse(table, N, &r->o, argc, r->argv, stop, &r->first, &r->e);
}

static void every_kind_is_stored(void **state)
{
	struct result r;

	(void)state;
	parse_words(&r, "time -j -q -o out --interval 100ms -n 10k --report=page --sort calls a b",
		false);
	assert_int_equal(r.status, 0);
	assert_true(r.o.json && r.o.quiet && r.o.has_report && r.o.has_runs);
	assert_string_equal(r.o.output, "out");
	assert_int_equal(r.o.interval_ns, 100000000);
	assert_int_equal(r.o.runs, 10000);
	assert_string_equal(r.o.report, "page");
	assert_int_equal(r.o.sort, 2);
	assert_int_equal(r.first, 12);
	assert_string_equal(r.argv[12], "a");
}

static void nothing_given_keeps_the_defaults(void **state)
{
	struct result r;

	(void)state;
	parse_words(&r, "time", true);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.first, 1);
	assert_int_equal(r.o.runs, 5);
	assert_false(r.o.json || r.o.quiet || r.o.has_report || r.o.has_runs);
	assert_null(r.o.output);
}

static void forms_of_writing_an_option(void **state)
{
	struct result r;

	(void)state;
	/* the last one counts */
	parse_words(&r, "time -jqn3 -oout --runs=4 --output= --js", false);
	assert_int_equal(r.status, 0);
	assert_true(r.o.json && r.o.quiet);
	assert_int_equal(r.o.runs, 4);
	assert_string_equal(r.o.output, "");
	parse_words(&r, "time -- -j", false);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.first, 2);
	assert_false(r.o.json);
}

static void optional_values_only_with_an_equals_sign(void **state)
{
	struct result r;

	(void)state;
	parse_words(&r, "time --report page", false);
	assert_int_equal(r.status, 0);
	assert_true(r.o.has_report);
	assert_string_equal(r.o.report, "default");
	assert_string_equal(r.argv[r.first], "page");
	parse_words(&r, "time -rq", false); /* the letter takes no value at all */
	assert_int_equal(r.status, 0);
	assert_true(r.o.has_report && r.o.quiet);
	assert_string_equal(r.o.report, "default");
}

static void operands_end_the_options_or_move_behind_them(void **state)
{
	struct result r;

	(void)state;
	parse_words(&r, "run -j python -q --jsno", true);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.first, 2);
	assert_true(r.o.json && !r.o.quiet);
	assert_string_equal(r.argv[2], "python");
	assert_string_equal(r.argv[3], "-q");
	parse_words(&r, "report a -j b -q c", false);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.first, 3);
	assert_true(r.o.json && r.o.quiet);
	assert_string_equal(r.argv[3], "a");
	assert_string_equal(r.argv[5], "c");
}

static void errors_say_what_is_wanted(void **state)
{
	static const struct {
		const char *line, *error;
	} cases[] = {
		{ "time --jsno", "time: unknown option --jsno; did you mean --json?" },
		{ "time --jsno=5", "time: unknown option --jsno; did you mean --json?" },
		{ "time a b --outptu x", "time: unknown option --outptu; did you mean --output?" },
		{ "time --zebra", "time: unknown option --zebra" },
		{ "time --otuptu x", "time: unknown option --otuptu; did you mean --output?" },
		{ "time --otuptux x", "time: unknown option --otuptux" },
		{ "time --jn", "time: unknown option --jn" }, /* two of two letters: a guess */
		{ "time --xx", "time: unknown option --xx" },
		{ "time -x", "time: unknown option -x" },
		{ "time -jx", "time: unknown option -x" },
		{ "time -?", "time: unknown option -?" },
		{ "time -:", "time: unknown option -:" },
		{ "time -\xc3\xa9", "time: unknown option -\\xc3" },
		{ "time -\x01", "time: unknown option -\\x01" },
		{ "time --a\nb", "time: unknown option --a\\nb" },
		{ "time --inter 5", "time: --inter is ambiguous: --interval or --interpreter?" },
		{ "time --inter=5", "time: --inter is ambiguous: --interval or --interpreter?" },
		{ "time --r", "time: --r is ambiguous: --runs or --report?" },
		{ "time --interval x", "time: --interval expects a time such as 100ms, not 'x'" },
		{ "time --interv=x", "time: --interval expects a time such as 100ms, not 'x'" },
		{ "time --interval=", "time: --interval expects a time such as 100ms, not ''" },
		{ "time --runs -1", "time: --runs expects a number such as 100, not '-1'" },
		{ "time -n 1.5", "time: -n expects a number such as 100, not '1.5'" },
		{ "time -n x\x1b[2J", "time: -n expects a number such as 100, not 'x\\x1b[2J'" },
		{ "time --sort size", "time: --sort expects name, time or calls, not 'size'" },
		{ "time -s tim", "time: -s expects name, time or calls, not 'tim'" },
		{ "time --output", "time: --output expects a value: --output FILE" },
		{ "time -j -n", "time: -n expects a value: -n N" },
		{ "time --json=yes", "time: --json takes no value" },
		{ "run python --jsno", NULL },
	};
	struct result r;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		parse_words(&r, cases[i].line, cases[i].error == NULL);
		assert_int_equal(r.status, cases[i].error ? -ERR_USAGE : 0);
		assert_string_equal(r.e.text, cases[i].error ? cases[i].error : "");
		assert_int_equal(r.first == -1, cases[i].error != NULL); /* untouched on failure */
	}
}

static void long_values_are_cut_in_errors(void **state)
{
	struct result r;
	char line[200] = "time -n ";

	(void)state;
	memset(line + 8, 'x', 150);
	parse_words(&r, line, false);
	assert_int_equal(
		strlen(r.e.text), strlen("time: -n expects a number such as 100, not ''") + 59 + 3);
}

static void parsing_again_starts_anew(void **state)
{
	struct result r;

	(void)state;
	parse_words(&r, "time -jx -q", false); /* fails within a word */
	assert_true(r.status < 0);
	parse_words(&r, "time -q", false);
	assert_int_equal(r.status, 0);
	assert_true(r.o.quiet && !r.o.json);
	parse_words(&r, "run a -j", true);
	assert_int_equal(r.first, 1);
	parse_words(&r, "report a -j", false);
	assert_int_equal(r.first, 2);
}

static void help_is_aligned_and_wrapped(void **state)
{
	static const struct opt long_one[] = {
		{ .letter = 'v', .kind = OPT_U64, .value = "N", .help = "say more" },
		{ .name = "a-very-long-option-name",
			.kind = OPT_STRING,
			.value = "VALUE",
			.help = "stands alone" },
	};
	struct buf b = BUF_INIT;

	(void)state;
	opts_help(table, N, &b, 80);
	assert_string_equal(buf_str(&b),
		"  -j, --json              print JSON\n"
		"  -q                      say nothing\n"
		"  -o, --output=FILE       write the result to FILE instead of the terminal\n"
		"      --interval=TIME     sample every TIME\n"
		"  -n, --runs=N            run N times\n"
		"  -r, --report[=FILE]     write a page\n"
		"  -s, --sort=KEY          sort by: name, time or calls\n"
		"      --interpreter=PATH  run with PATH\n");
	buf_clear(&b);
	opts_help(table + 2, 1, &b, 50);
	assert_string_equal(buf_str(&b),
		"  -o, --output=FILE  write the result to FILE\n"
		"                     instead of the terminal\n");
	buf_clear(&b);
	opts_help(table + 2, 1, &b, 0); /* too narrow: twenty columns all the same */
	assert_string_equal(buf_str(&b),
		"  -o, --output=FILE  write the result to\n"
		"                     FILE instead of the\n"
		"                     terminal\n");
	buf_clear(&b);
	opts_help(long_one, 2, &b, 60);
	assert_string_equal(buf_str(&b),
		"  -v N  say more\n"
		"      --a-very-long-option-name=VALUE\n"
		"        stands alone\n");
	buf_done(&b);
}

static void help_has_headings(void **state)
{
	static const struct opt two[] = {
		{ .name = "json", .kind = OPT_FLAG, .help = "print JSON" },
		{ .heading = "Call graphs", .name = "leaf", .kind = OPT_FLAG, .help = "cut" },
	};
	struct buf b = BUF_INIT;

	(void)state;
	opts_help(two, 2, &b, 80);
	assert_string_equal(buf_str(&b),
		"      --json  print JSON\n"
		"\n"
		"Call graphs\n"
		"      --leaf  cut\n");
	buf_done(&b);
}

static void a_list_keeps_every_word_in_order(void **state)
{
	struct {
		struct opt_list words;
	} o = { 0 };
	const struct opt one[] = { { .letter = 'c',
		.name = "command",
		.kind = OPT_LIST,
		.value = "WORDS",
		.help = "do this",
		.offset = 0 } };
	char *argv[2 * OPT_LIST_MOST + 4] = { (char *)"x", (char *)"-c", (char *)"sort time",
		(char *)"--command=stats 3", (char *)"file" };
	struct err e = ERR_INIT;
	int first;

	(void)state;
	assert_int_equal(opts_parse(one, 1, &o, 5, argv, false, &first, &e), 0);
	assert_int_equal(o.words.n, 2);
	assert_string_equal(o.words.v[0], "sort time");
	assert_string_equal(o.words.v[1], "stats 3");
	assert_int_equal(first, 4);
	o.words.n = 0;
	for (int i = 0; i <= OPT_LIST_MOST; i++)
		argv[1 + i] = (char *)"-cx";
	assert_true(opts_parse(one, 1, &o, OPT_LIST_MOST + 2, argv, false, &first, &e) < 0);
}

static void a_pair_takes_the_next_word_too(void **state)
{
	struct {
		struct opt_list words;
	} o = { 0 };
	const struct opt one[] = { { .letter = 'L',
		.name = "list",
		.kind = OPT_PAIRS,
		.value = "NAME VALUES",
		.help = "replace it",
		.offset = 0 } };
	char *argv[] = { (char *)"x", (char *)"-L", (char *)"n", (char *)"-1,2", (char *)"file",
		(char *)"--list=m", (char *)"3", NULL };
	struct buf b = BUF_INIT;
	struct err e = ERR_INIT;
	int first;

	(void)state;
	assert_int_equal(opts_parse(one, 1, &o, 7, argv, false, &first, &e), 0);
	assert_int_equal(o.words.n, 4);
	assert_string_equal(o.words.v[1], "-1,2");
	assert_string_equal(o.words.v[2], "m");
	assert_string_equal(o.words.v[3], "3");
	assert_string_equal(argv[first], "file");
	assert_int_equal(first, 6);
	assert_true(opts_parse(one, 1, &o, 3, argv, false, &first, &e) < 0);
	assert_string_equal(e.text, "x: -L expects a value: -L NAME VALUES");
	opts_help(one, 1, &b, 60);
	assert_string_equal(buf_str(&b), "  -L, --list NAME VALUES  replace it\n");
	buf_done(&b);
}

static void what_is_given_can_be_refused(void **state)
{
	static const char *const none[] = { "words", NULL },
				 *const flags[] = { "words", "flag", NULL };
	struct given {
		bool flag, has_number;
		struct opt_list words;
		uint64_t number;
	} o = { 0 };
	static const struct opt rows[] = {
		{ .name = "flag",
			.kind = OPT_FLAG,
			.help = "a",
			.offset = offsetof(struct given, flag) },
		{ .name = "words",
			.kind = OPT_LIST,
			.value = "W",
			.help = "b",
			.offset = offsetof(struct given, words) },
		{ .name = "number",
			.kind = OPT_U64,
			.value = "N",
			.help = "c",
			.offset = offsetof(struct given, number),
			.given_offset = offsetof(struct given, has_number) },
	};
	char *argv[] = { (char *)"x", (char *)"--flag", (char *)"--number=0", NULL };
	struct err e = ERR_INIT;
	int first;

	(void)state;
	assert_int_equal(opts_parse(rows, 3, &o, 3, argv, false, &first, &e), 0);
	assert_true(opts_is_given(&rows[0], &o));
	assert_false(opts_is_given(&rows[1], &o));
	assert_true(opts_is_given(&rows[2], &o));
	assert_int_equal(opts_refuse(rows, 3, &o, none, "this", &e), 0);
	assert_int_equal(opts_refuse(rows, 3, &o, flags, "this", &e), -ERR_USAGE);
	assert_string_equal(e.text, "--flag does not apply to this");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_takes_the_next_word_too),
		cmocka_unit_test(a_list_keeps_every_word_in_order),
		cmocka_unit_test(every_kind_is_stored),
		cmocka_unit_test(nothing_given_keeps_the_defaults),
		cmocka_unit_test(forms_of_writing_an_option),
		cmocka_unit_test(optional_values_only_with_an_equals_sign),
		cmocka_unit_test(operands_end_the_options_or_move_behind_them),
		cmocka_unit_test(errors_say_what_is_wanted),
		cmocka_unit_test(long_values_are_cut_in_errors),
		cmocka_unit_test(parsing_again_starts_anew),
		cmocka_unit_test(help_is_aligned_and_wrapped),
		cmocka_unit_test(help_has_headings),
		cmocka_unit_test(what_is_given_can_be_refused),
	};

	return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}
