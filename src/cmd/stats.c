/* SPDX-License-Identifier: MIT
 *
 * leadline stats: a prompt over call statistics with the commands and the output of `python -m pstats`, for
 * traced recordings and for other tools' files of counted calls. */
#include <ctype.h>
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/calls/callstats.h"
#include "analyze/calls/exact.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/prompt.h"
#include "cmd/result.h"
#include "view/calls/callstats.h"
#include "view/calls/exact.h"
#include "base/banned.h"

struct options {
	struct opt_list commands;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .letter = 'c',
		.name = "command",
		.kind = OPT_LIST,
		.value = "WORDS",
		.help = "run this command instead of prompting; may be repeated",
		.offset = FIELD(commands) },
};

struct browser {
	struct arena arena;
	const struct callstats *stats; /* NULL: none is loaded */
	struct callstats_order order;
	struct buf heads; /* a line per file, and one of how far its times may be off */
	struct buf note;  /* that one, of the last file */
	struct buf name;  /* of the file read last, "" before */
	struct buf lines; /* counted lines of the files, as line_profiler prints them */
	struct buf out;
	bool is_damaged; /* one of the files */
	bool has_ended;
};

struct verb {
	const char *name, *help;
	void (*run)(struct browser *b, const char *words);
};

/* ---- files ----------------------------------------------------------------------------------- */

/* How far corrected times may be off, of which pstats' table has no column. */
static void note_interval(struct browser *b, const struct exact *x)
{
	struct interval of = x->self_interval;

	if (units_is_known(of.low) && units_is_known(of.high))
		buf_printf(&b->note,
			"times exclude the cost of tracing: %.3f seconds, %.3f to %.3f (as stamped %.3f)",
			x->self, of.low, of.high, x->raw_self);
}

/* Calls, or an empty value, and lines, each as far as they were counted. */
static int load(struct browser *b, const char *path, const struct callstats **ret, struct err *e)
{
	static const struct result_choice all = { .of = { .idle = true, .imports = true },
		.source = true };
	static const struct callstats none;
	struct arena a = ARENA_INIT;
	struct result r;
	int status = result_open(&r, path, &all, e);

	if (status == 0 && !r.selection->exact && !r.selection->exact_lines && *r.damage)
		status = err_set(
			e, ERR_BAD_FILE, "%s: no counted calls could be read: %s", path, r.damage);
	else if (status == 0 && !r.selection->exact && !r.selection->exact_lines)
		status = err_set(e, ERR_USAGE,
			"%s: no calls were counted in it; leadline run --trace counts them, leadline report shows what else it holds",
			path);
	if (status == 0) /* a copy of its own: the rest goes */
		*ret = callstats_sum(&b->arena,
			r.selection->exact ? callstats_build(&a, r.selection->exact) : &none,
			&none);
	b->is_damaged |= status == 0 && *r.damage;
	buf_clear(&b->note);
	if (status == 0 && r.selection->exact)
		note_interval(b, r.selection->exact);
	if (status == 0 && r.selection->exact_lines)
		exact_print_line_profiler(r.selection->exact_lines, r.texts, 1e-6, &b->lines);
	result_done(&r);
	arena_done(&a);
	return status;
}

/* "Sun Nov 15 16:00:00 2026    x.prof" */
static void add_head(struct browser *b, const char *path)
{
	struct stat st;
	struct tm tm;
	char text[64] = "";

	if (stat(path, &st) == 0 && localtime_r(&st.st_mtime, &tm))
		strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y    ", &tm);
	text_add_line(&b->heads, "%s%s", text, path);
	if (b->note.n)
		text_add_line(&b->heads, "%s", buf_str(&b->note));
}

static int read_file(struct browser *b, const char *path, struct err *e)
{
	const struct callstats *stats;
	struct buf name = BUF_INIT, lines = b->lines;
	int status;

	b->lines = BUF_INIT;
	b->is_damaged = false;
	status = load(b, path, &stats, e);
	if (status < 0) {
		buf_done(&b->lines);
		b->lines = lines;
		return status;
	}
	buf_done(&lines);
	buf_adds(&name, path); /* which may be the name itself */
	buf_clear(&b->heads);
	add_head(b, buf_str(&name));
	buf_done(&b->name);
	b->name = name;
	b->stats = stats;
	b->order = (struct callstats_order){ 0 };
	return 0;
}

static int add_file(struct browser *b, const char *path, struct err *e)
{
	const struct callstats *stats;
	int status = load(b, path, &stats, e);

	if (status < 0)
		return status;
	add_head(b, path);
	b->stats = callstats_sum(&b->arena, b->stats, stats);
	b->order = (struct callstats_order){ 0 };
	return 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool has_stats(struct browser *b)
{
	if (!b->stats)
		buf_adds(&b->out, "No statistics object is loaded.\n");
	return b->stats != NULL;
}

/* A number that is no part of a list and no number of rows. */
static bool is_out_of_range(const char *word)
{
	char *end;
	double value = strtod(word, &end);

	if (!isdigit((unsigned char)*word) && !strchr(".+-", *word))
		return false;
	return end != word && !*end && strspn(word, "0123456789") != strlen(word) &&
		(value < 0 || value > 1);
}

typedef void print_fn(const struct callstats_page *p, struct buf *out);

static void print(struct browser *b, const char *words, print_fn *how)
{
	struct callstats_page page = { .stats = b->stats, .order = &b->order };
	struct callstats_list list;
	char *rest, *word;

	if (!has_stats(b))
		return;
	list = callstats_all(&b->arena, b->stats, &b->order);
	rest = arena_strdup(&b->arena, words);
	while ((word = strsep(&rest, " \t"))) {
		if (*word && is_out_of_range(word))
			buf_adds(&b->out, "Fraction argument must be in [0, 1]\n");
		else if (*word)
			callstats_restrict(&b->arena, b->stats, &list, word);
	}
	page.list = &list;
	page.heads = buf_str(&b->heads);
	how(&page, &b->out);
}

static void do_stats(struct browser *b, const char *words)
{
	print(b, words, callstats_print);
}

static void do_callers(struct browser *b, const char *words)
{
	print(b, words, callstats_print_callers);
}

static void do_callees(struct browser *b, const char *words)
{
	print(b, words, callstats_print_callees);
}

static void do_lines(struct browser *b, const char *words)
{
	(void)words;
	if (!has_stats(b))
		return;
	if (b->lines.n)
		buf_add(&b->out, b->lines.data, b->lines.n);
	else
		buf_adds(&b->out,
			b->is_damaged ? "No counted lines could be read.\n"
				      : "No lines were counted.\n");
}

static void do_add(struct browser *b, const char *words)
{
	struct err e = ERR_INIT;

	if (has_stats(b) && add_file(b, words, &e) < 0)
		text_add_line(&b->out, "Failed to load statistics for %s: %s", words, e.text);
}

static void do_read(struct browser *b, const char *words)
{
	struct err e = ERR_INIT;

	if (!*words && !b->name.n)
		buf_adds(&b->out, "No statistics object is current -- cannot reload.\n");
	else if (read_file(b, *words ? words : buf_str(&b->name), &e) < 0)
		text_add_line(&b->out, "%s", e.text);
}

static void do_sort(struct browser *b, const char *words)
{
	struct err e = ERR_INIT;

	if (!has_stats(b))
		return;
	if (*words && callstats_sort(&b->arena, b->stats, words, &b->order, &e) == 0)
		return;
	buf_adds(&b->out, "Valid sort keys (unique prefixes are accepted):\n");
	for (size_t i = 0; i < n_callstats_keys; i++)
		buf_printf(
			&b->out, "%s -- %s\n", callstats_keys[i].word, callstats_keys[i].meaning);
}

static void do_reverse(struct browser *b, const char *words)
{
	(void)words;
	if (has_stats(b))
		callstats_reverse(&b->arena, &b->order);
}

static void do_strip(struct browser *b, const char *words)
{
	(void)words;
	if (!has_stats(b))
		return;
	b->stats = callstats_strip(&b->arena, b->stats);
	b->order = (struct callstats_order){ 0 };
}

static void do_quit(struct browser *b, const char *words)
{
	(void)words;
	b->has_ended = true;
}

static void do_end(struct browser *b, const char *words)
{
	(void)words;
	buf_addc(&b->out, '\n');
	b->has_ended = true;
}

static void do_help(struct browser *b, const char *words);

#define RESTRICTIONS                                                   \
	"Arguments may be:\n"                                          \
	"* An integer maximum number of entries to print.\n"           \
	"* A decimal fractional number between 0 and 1, controlling\n" \
	"  what fraction of selected entries to print.\n"              \
	"* A regular expression; only entries with function names\n"   \
	"  that match it are printed.\n"

/* Alphabetical, as help lists them. */
static const struct verb verbs[] = {
	{ "EOF", "Leave the profile browser.\n", do_end },
	{ "add", "Add profile info from given file to current statistics object.\n", do_add },
	{ "callees", "Print callees statistics from the current stat object.\n" RESTRICTIONS,
		do_callees },
	{ "callers", "Print callers statistics from the current stat object.\n" RESTRICTIONS,
		do_callers },
	{ "help", "Show help for a given command.\n", do_help },
	{ "lines", "Print counted lines as line_profiler does.\n", do_lines },
	{ "quit", "Leave the profile browser.\n", do_quit },
	{ "read",
		"Read in profile data from a specified file.\n"
		"Without argument, reload the current file.\n",
		do_read },
	{ "reverse", "Reverse the sort order of the profiling report.\n", do_reverse },
	{ "sort",
		"Sort profile data according to specified keys.\n"
		"(Typing `sort' without arguments lists valid keys.)\n",
		do_sort },
	{ "stats", "Print statistics from the current stat object.\n" RESTRICTIONS, do_stats },
	{ "strip", "Strip leading path information from filenames in the report.\n", do_strip },
};
static const size_t n_verbs = sizeof verbs / sizeof *verbs;

static const struct verb *find_verb(const char *name, size_t n)
{
	for (size_t i = 0; i < n_verbs; i++)
		if (strlen(verbs[i].name) == n && memcmp(verbs[i].name, name, n) == 0)
			return &verbs[i];
	return NULL;
}

static void do_help(struct browser *b, const char *words)
{
	const struct verb *verb = find_verb(words, strlen(words));

	if (verb) {
		buf_adds(&b->out, verb->help);
		return;
	}
	if (*words) {
		text_add_line(&b->out, "*** No help on %s", words);
		return;
	}
	buf_adds(&b->out,
		"\nDocumented commands (type help <topic>):\n"
		"========================================\n");
	for (size_t i = 0; i < n_verbs; i++)
		buf_printf(&b->out, "%s%s", verbs[i].name, i + 1 < n_verbs ? "  " : "\n\n");
}

static void do_line(struct browser *b, const char *line)
{
	const struct verb *verb;
	struct buf words = BUF_INIT;
	size_t n;

	line += strspn(line, " \t");
	if (*line == '?')
		buf_printf(&words, "help %s", line + 1);
	else
		buf_adds(&words, line);
	while (words.n && isspace((unsigned char)words.data[words.n - 1]))
		words.data[--words.n] = '\0';
	n = strcspn(buf_str(&words), " \t");
	verb = find_verb(buf_str(&words), n);
	if (verb)
		verb->run(b, words.data + n + strspn(words.data + n, " \t"));
	else if (words.n)
		text_add_line(&b->out, "*** Unknown syntax: %s", buf_str(&words));
	buf_done(&words);
}

/* ---- completion ------------------------------------------------------------------------------ */

static void offer(struct buf *words, const char *word, const char *typed)
{
	if (strncmp(word, typed, strlen(typed)) == 0)
		buf_printf(words, "%s\n", word);
}

static void offer_files(struct buf *words, const char *typed)
{
	const char *slash = strrchr(typed, '/');
	int n_folder = slash ? (int)(slash - typed) + 1 : 0;
	char folder[4096], path[8192];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	snprintf(folder, sizeof folder, "%.*s", n_folder, n_folder ? typed : "");
	dir = opendir(*folder ? folder : ".");
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof path, "%s%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || strncmp(path, typed, strlen(typed)) != 0)
			continue;
		buf_printf(words, "%s%s\n", path,
			stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? "/" : "");
	}
	if (dir)
		closedir(dir);
}

static void complete(void *ctx, const char *line, size_t from, struct buf *words)
{
	size_t begin = strspn(line, " "), n = strcspn(line + begin, " ");
	const struct verb *verb = find_verb(line + begin, n);
	char typed[4096];

	(void)ctx;
	snprintf(typed, sizeof typed, "%.*s", (int)strcspn(line + from, " "), line + from);
	if (from <= begin || (verb && verb->run == do_help))
		for (size_t i = 0; i < n_verbs; i++)
			offer(words, verbs[i].name, typed);
	else if (verb && verb->run == do_sort)
		for (size_t i = 0; i < n_callstats_keys; i++)
			offer(words, callstats_keys[i].word, typed);
	else if (verb && (verb->run == do_read || verb->run == do_add))
		offer_files(words, typed);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void show(struct browser *b)
{
	output_write(STDOUT_FILENO, &b->out);
	buf_clear(&b->out);
}

/* An empty line does the last one again, as Python's prompts do. */
static void ask(struct browser *b)
{
	struct buf line = BUF_INIT, last = BUF_INIT, text = BUF_INIT;
	struct prompt p;

	prompt_init(&p, complete, b);
	buf_adds(&b->out, "Welcome to the profile statistics browser.\n");
	while (!b->has_ended) {
		show(b);
		buf_clear(&text);
		text_add_printable(&text, buf_str(&b->name), b->name.n);
		buf_adds(&text, "% ");
		if (!prompt_read(&p, buf_str(&text), &line)) {
			buf_clear(&line);
			buf_adds(&line, "EOF");
		}
		if (line.n) {
			buf_clear(&last);
			buf_adds(&last, buf_str(&line));
		}
		do_line(b, buf_str(&last));
	}
	buf_adds(&b->out, "Goodbye.\n");
	show(b);
	prompt_done(&p);
	buf_done(&line);
	buf_done(&last);
	buf_done(&text);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct browser b = { 0 };
	struct err e = ERR_INIT;
	int first = 0;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	for (int i = first; i < argc && !e.code; i++)
		if (i == first)
			read_file(&b, argv[i], &e);
		else
			add_file(&b, argv[i], &e);
	for (size_t i = 0; !e.code && i < o.commands.n && !b.has_ended; i++) {
		do_line(&b, o.commands.v[i]);
		show(&b);
	}
	if (!e.code && !o.commands.n)
		ask(&b);
	buf_done(&b.heads);
	buf_done(&b.note);
	buf_done(&b.name);
	buf_done(&b.lines);
	buf_done(&b.out);
	arena_done(&b.arena);
	return e.code ? command_fail(self, &e) : 0;
}

const struct command command_stats = {
	.group = "look",
	.name = "stats",
	.arguments = "[options] [FILE…]",
	.summary = "Browse a traced recording or a .prof file as python -m pstats does",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  leadline stats run.lead\n"
		    "  leadline stats old.prof -c 'sort cumtime' -c 'stats 10'\n"
		    "  leadline stats a.prof b.prof -c strip -c 'callers json'\n",
	.run = run,
};
