/* SPDX-License-Identifier: MIT
 * See opts.h. getopt_long finds the options and says what kind of mistake was made; the words for
 * it are ours (opterr = 0). */
#include "base/opts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* getopt's value of a long option is this plus the row, of a short one its letter. */
enum { LONG_BASE = 256, HELP = LONG_BASE - 1 };

/* Widest text of the user's shown in an error. */
enum { SHOWN_WIDTH = 60 };

struct parse {
	const struct opt *table;
	size_t n;
	const char *command; /* argv[0] */
	void *options;
	struct err *e;
};

static bool is_of_peers(const struct opt *row)
{
	return row->kind == OPT_ANYWAY || row->kind == OPT_INSTEAD || row->kind == OPT_NOT_BUILT;
}

static struct option *build_long(const struct opt *table, size_t n)
{
	struct option *all = xcalloc(n + 2, sizeof *all), *to = all;

	for (size_t i = 0; i < n; i++) {
		if (!table[i].name)
			continue;
		to->name = table[i].name;
		to->has_arg = table[i].kind == OPT_FLAG ? no_argument
			: table[i].optional_value       ? optional_argument
							: required_argument;
		to->val = LONG_BASE + (int)i;
		to++;
	}
	*to = (struct option){ "help", no_argument, NULL, HELP };
	return all;
}

static void build_short(struct buf *out, const struct opt *table, size_t n, bool stop)
{
	buf_adds(out, stop ? "+:" : ":"); /* ':' tells a missing value from an unknown option */
	for (size_t i = 0; i < n; i++) {
		if (!table[i].letter)
			continue;
		buf_addc(out, table[i].letter);
		if (table[i].kind != OPT_FLAG && !table[i].optional_value)
			buf_addc(out, ':');
	}
	buf_addc(out, 'h');
}

static const struct opt *find_row(const struct parse *p, int value)
{
	if (value >= LONG_BASE)
		return &p->table[value - LONG_BASE];
	for (size_t i = 0; i < p->n; i++)
		if (value && p->table[i].letter == value)
			return &p->table[i];
	return NULL;
}

/* The option as the user wrote it, long names in full. */
static void add_option(struct buf *out, const struct opt *row, int value)
{
	if (value >= LONG_BASE)
		buf_printf(out, "--%s", row->name);
	else
		buf_printf(out, "-%c", row->letter);
}

static void add_shown(struct buf *out, const char *s)
{
	struct buf printable = BUF_INIT;

	text_add_printable(&printable, s, strlen(s));
	text_add_cut(out, buf_str(&printable), SHOWN_WIDTH, TEXT_CUT_END);
	buf_done(&printable);
}

/* "a, b or c" */
static void add_choices(struct buf *out, const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++) {
		if (i)
			buf_adds(out, choices[i + 1] ? ", " : " or ");
		buf_adds(out, choices[i]);
	}
}

/* Sets the error to the text, which it frees. */
static int usage(const struct parse *p, struct buf *text)
{
	int status = err_set(p->e, ERR_USAGE, "%s: %s", p->command, buf_str(text));

	buf_done(text);
	return status;
}

/* How many words of the command line its value takes. */
static int words_of(const struct opt *row)
{
	return row->kind == OPT_PAIRS ? 2 : row->kind == OPT_TRIPLES ? 3 : 1;
}

static int fail_value(const struct parse *p, const struct opt *row, int value, const char *given)
{
	struct buf text = BUF_INIT;

	add_option(&text, row, value);
	switch (row->kind) {
	case OPT_FLAG:
	case OPT_STRING:
	case OPT_ANYWAY:
	case OPT_INSTEAD:
	case OPT_NOT_BUILT:
		break; /* take anything */
	case OPT_LIST:
	case OPT_PAIRS:
	case OPT_TRIPLES:
		buf_printf(&text, " can be given at most %d times", OPT_LIST_MOST / words_of(row));
		break;
	case OPT_U64:
		buf_adds(&text, " expects a number such as 100");
		break;
	case OPT_DURATION:
		buf_adds(&text, " expects a time such as 100ms");
		break;
	case OPT_CHOICE:
		buf_adds(&text, " expects ");
		add_choices(&text, row->choices);
		break;
	}
	buf_adds(&text, ", not '");
	add_shown(&text, given);
	buf_addc(&text, '\'');
	return usage(p, &text);
}

static bool find_choice(const char *const *choices, const char *given, int *ret)
{
	for (int i = 0; choices[i]; i++)
		if (strcmp(choices[i], given) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static bool add_to_list(struct opt_list *list, const char *given)
{
	if (list->n == OPT_LIST_MOST)
		return false;
	list->v[list->n++] = given;
	return true;
}

static int answer(const struct parse *p, const struct opt *row)
{
	if (row->kind == OPT_ANYWAY)
		return 0;
	return err_set(p->e, row->kind == OPT_NOT_BUILT ? ERR_NOT_BUILT : ERR_USAGE, "%s: --%s: %s",
		p->command, row->name, row->help);
}

static int store(const struct parse *p, const struct opt *row, int value, const char *given)
{
	void *to;
	bool is_good = true;

	if (is_of_peers(row))
		return answer(p, row);
	to = (char *)p->options + row->offset;
	if (row->given_offset)
		*(bool *)((char *)p->options + row->given_offset) = true;
	if (row->kind == OPT_FLAG)
		*(bool *)to = true;
	if (!given)
		return 0;
	switch (row->kind) {
	case OPT_FLAG:
	case OPT_ANYWAY:
	case OPT_INSTEAD:
	case OPT_NOT_BUILT:
		break;
	case OPT_STRING:
		*(const char **)to = given;
		break;
	case OPT_LIST:
	case OPT_PAIRS:
	case OPT_TRIPLES:
		is_good = add_to_list(to, given);
		break;
	case OPT_U64:
		is_good = text_parse_u64(given, to);
		break;
	case OPT_DURATION:
		is_good = text_parse_duration_ns(given, to);
		break;
	case OPT_CHOICE:
		is_good = find_choice(row->choices, given, to);
		break;
	}
	return is_good ? 0 : fail_value(p, row, value, given);
}

/* The long option nearest to name, NULL where none is near. */
static const char *find_similar(const struct parse *p, const char *name)
{
	const char *best = NULL;
	unsigned least = 3;

	for (size_t i = 0; i < p->n; i++) {
		bool is_ours = p->table[i].name && !is_of_peers(&p->table[i]);
		unsigned far = is_ours ? text_distance(name, p->table[i].name) : least;

		if (far < least && far < strlen(name)) {
			least = far;
			best = p->table[i].name;
		}
	}
	return best;
}

/* Appends the long options that begin with name; returns how many. */
static size_t add_prefixed(struct buf *out, const struct parse *p, const char *name)
{
	size_t found = 0;

	for (size_t i = 0; i < p->n; i++) {
		const char *other = p->table[i].name;

		if (!other || strncmp(other, name, strlen(name)) != 0)
			continue;
		buf_printf(out, "%s--%s", found ? " or " : "", other);
		found++;
	}
	return found;
}

/* `word` is the argument as given: --name or --name=value. */
static int fail_long(const struct parse *p, const char *word)
{
	struct buf text = BUF_INIT, name = BUF_INIT, others = BUF_INIT;
	const char *similar;

	buf_add(&name, word + 2, strcspn(word + 2, "="));
	if (add_prefixed(&others, p, buf_str(&name)) > 1) {
		buf_adds(&text, "--");
		add_shown(&text, buf_str(&name));
		buf_printf(&text, " is ambiguous: %s?", buf_str(&others));
	} else {
		buf_adds(&text, "unknown option --");
		add_shown(&text, buf_str(&name));
		similar = find_similar(p, buf_str(&name));
		if (similar)
			buf_printf(&text, "; did you mean --%s?", similar);
	}
	buf_done(&name);
	buf_done(&others);
	return usage(p, &text);
}

static int fail_letter(const struct parse *p, int letter)
{
	struct buf text = BUF_INIT;
	char c = (char)letter;

	buf_adds(&text, "unknown option -");
	if (c & 0x80) /* a byte of a character */
		buf_printf(&text, "\\x%02x", (unsigned char)c);
	else
		text_add_printable(&text, &c, 1);
	return usage(p, &text);
}

static int fail_missing(const struct parse *p, int value)
{
	const struct opt *row = find_row(p, value);
	struct buf text = BUF_INIT;

	add_option(&text, row, value);
	buf_adds(&text, " expects a value: ");
	add_option(&text, row, value);
	buf_printf(&text, " %s", row->value ? row->value : "VALUE");
	return usage(p, &text);
}

static int fail_extra(const struct parse *p, int value)
{
	struct buf text = BUF_INIT;

	add_option(&text, find_row(p, value), value);
	buf_adds(&text, " takes no value");
	return usage(p, &text);
}

/* The further words of a value: getopt_long knows of one and goes on where optind says. */
static int take_more(const struct parse *p, int got, int argc, char **argv)
{
	const struct opt *row = find_row(p, got);
	int status = 0;

	for (int i = 1; i < words_of(row) && status == 0; i++) {
		if (optind >= argc)
			return fail_missing(p, got);
		status = store(p, row, got, argv[optind++]);
	}
	return status;
}

/* One answer of getopt_long; `word` is the argument it has just left. */
static int take(const struct parse *p, int got, const char *word)
{
	if (got == ':')
		return fail_missing(p, optopt);
	if (got == '?' && optopt >= LONG_BASE)
		return fail_extra(p, optopt);
	if (got == '?' && optopt)
		return fail_letter(p, optopt);
	if (got == '?')
		return fail_long(p, word);
	return store(p, find_row(p, got), got, optarg);
}

/* Whether that asks for help, be it where a value should stand. */
static bool is_help(int got)
{
	return got == HELP || got == 'h' ||
		(got != ':' && got != '?' && optarg &&
			(strcmp(optarg, "--help") == 0 || strcmp(optarg, "-h") == 0));
}

int opts_parse(const struct opt *table, size_t n, void *options, int argc, char **argv,
	bool stop_at_first_operand, int *ret_first_operand, struct err *e)
{
	const struct parse p = { table, n, argv[0], options, e };
	struct option *longs = build_long(table, n);
	struct buf shorts = BUF_INIT;
	int got, status = 0;

	build_short(&shorts, table, n, stop_at_first_operand);
	optind = 0; /* glibc and musl: begin anew */
	opterr = 0;
	while ((got = getopt_long(argc, argv, buf_str(&shorts), longs, NULL)) != -1) {
		if (is_help(got)) {
			status = err_set(e, ERR_HELP, "help");
			break;
		}
		if (status < 0) /* help may still come */
			continue;
		status = take(&p, got, argv[optind > 0 ? optind - 1 : 0]);
		if (status == 0)
			status = take_more(&p, got, argc, argv);
	}
	if (status == 0)
		*ret_first_operand = optind;
	buf_done(&shorts);
	free(longs);
	return status;
}

enum { LABEL_MOST = 28, TEXT_LEAST = 20 };

/* "  -n, --runs=N" */
static void add_label(struct buf *out, const struct opt *o)
{
	buf_adds(out, "  ");
	if (o->letter)
		buf_printf(out, "-%c%s", o->letter, o->name ? ", " : "");
	else
		buf_adds(out, "    ");
	if (o->name)
		buf_printf(out, "--%s", o->name);
	if (!o->value)
		return;
	if (o->optional_value)
		buf_printf(out, "[=%s]", o->value);
	else
		buf_printf(out, "%c%s", o->name && words_of(o) == 1 ? '=' : ' ', o->value);
}

static size_t label_width(const struct opt *o)
{
	struct buf label = BUF_INIT;
	size_t width;

	add_label(&label, o);
	width = text_width(buf_str(&label));
	buf_done(&label);
	return width;
}

/* Appends text in lines of `room` columns, the later ones after `indent` blanks. A longer word has
 * a line to itself. */
static void add_wrapped(struct buf *out, const char *text, size_t indent, size_t room)
{
	size_t used = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t n = strcspn(text, " "), width = text_width_n(text, n);

		if (used && used + 1 + width > room) {
			buf_addc(out, '\n');
			buf_fill(out, ' ', indent);
			used = 0;
		}
		if (used)
			buf_addc(out, ' ');
		buf_add(out, text, n);
		used += width + (used > 0);
		text += n;
	}
	buf_addc(out, '\n');
}

void opts_help(const struct opt *table, size_t n, struct buf *out, size_t width)
{
	size_t column = 0, room;

	width = text_prose_width(width);
	for (size_t i = 0; i < n; i++) {
		size_t label = is_of_peers(&table[i]) ? 0 : label_width(&table[i]);

		if (label > column && label <= LABEL_MOST)
			column = label;
	}
	column += 2;
	room = width > column + TEXT_LEAST ? width - column : TEXT_LEAST;
	for (size_t i = 0; i < n; i++) {
		size_t label = label_width(&table[i]);
		struct buf help = BUF_INIT;

		if (is_of_peers(&table[i]))
			continue;
		if (table[i].heading)
			buf_printf(out, "\n%s\n", table[i].heading);
		add_label(out, &table[i]);
		if (label + 2 > column)
			buf_addc(out, '\n');
		buf_fill(out, ' ', label + 2 > column ? column : column - label);
		buf_adds(&help, table[i].help);
		if (table[i].kind == OPT_CHOICE) {
			buf_adds(&help, ": ");
			add_choices(&help, table[i].choices);
		}
		add_wrapped(out, buf_str(&help), column, room);
		buf_done(&help);
	}
}

bool opts_is_given(const struct opt *row, const void *options)
{
	const char *at = (const char *)options + (is_of_peers(row) ? 0 : row->offset);

	if (is_of_peers(row))
		return false;
	if (row->given_offset)
		return *(const bool *)((const char *)options + row->given_offset);
	switch (row->kind) {
	case OPT_FLAG:
		return *(const bool *)at;
	case OPT_STRING:
		return *(const char *const *)at != NULL;
	case OPT_LIST:
	case OPT_PAIRS:
	case OPT_TRIPLES:
		return ((const struct opt_list *)at)->n > 0;
	case OPT_U64:
	case OPT_DURATION:
		return *(const uint64_t *)at != 0;
	case OPT_CHOICE:
		return *(const int *)at != 0;
	case OPT_ANYWAY:
	case OPT_INSTEAD:
	case OPT_NOT_BUILT:
		break;
	}
	return false;
}

int opts_refuse(const struct opt *table, size_t n, const void *options, const char *const *names,
	const char *what, struct err *e)
{
	for (; *names; names++)
		for (size_t i = 0; i < n; i++)
			if (strcmp(table[i].name, *names) == 0 && opts_is_given(&table[i], options))
				return err_set(
					e, ERR_USAGE, "--%s does not apply to %s", *names, what);
	return 0;
}
