/* SPDX-License-Identifier: MIT
 * See subject.h. */
#include "cmd/subject.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/start.h"
#include "sys/interpreters.h"
#include "base/banned.h"

const char *const subject_syncs[] = { "none", "torch", NULL };

static const char *shell_of(const struct subject_options *o)
{
	return o->shell ? o->shell : "/bin/sh";
}

static int choose_python(
	const struct subject_options *o, struct arena *a, const char **ret, struct err *e)
{
	char own[4096], path[4096];
	struct interpreter_places places = interpreter_places_read(own, sizeof own);
	const char *why;

	if (o->python.n)
		*ret = o->python.v[0];
	else if (interpreter_choose(&places, path, sizeof path, &why))
		*ret = arena_strdup(a, path);
	else
		return err_set(e, ERR_NOT_FOUND, "no python3 found; name one with --python");
	return 0;
}

static const char *joined_setup(const struct subject_options *o, struct arena *a)
{
	struct buf text = BUF_INIT;
	const char *all;

	for (size_t i = 0; i < o->setup.n; i++)
		buf_printf(&text, "%s%s", i ? "\n" : "", o->setup.v[i]);
	all = arena_strdup(a, buf_str(&text));
	buf_done(&text);
	return all;
}

/* module.part:name.part, all of them names. */
static bool is_function(const char *s)
{
	const char *colon = strchr(s, ':');

	if (!colon || colon == s || !colon[1])
		return false;
	for (const char *p = s; *p; p++) {
		bool begins = p == s || p == colon + 1 || p[-1] == '.';

		if (p != colon && *p != '_' && (begins || *p != '.') &&
			!(begins ? isalpha((unsigned char)*p) : isalnum((unsigned char)*p)))
			return false;
	}
	return true;
}

const struct subject_options *subject_options_fill(const struct subject_options *o, struct arena *a,
	const struct series_parameter *v, size_t n)
{
	struct subject_options *filled = arena_copy(a, o, sizeof *o);

	for (size_t i = 0; i < o->setup.n; i++)
		filled->setup.v[i] = parameters_fill(a, o->setup.v[i], v, n);
	filled->prepare = parameters_fill(a, o->prepare, v, n);
	filled->conclude = parameters_fill(a, o->conclude, v, n);
	filled->cleanup = parameters_fill(a, o->cleanup, v, n);
	filled->input = parameters_fill(a, o->input, v, n);
	return filled;
}

static void command_defaults(struct subject *s, const struct subject_options *o)
{
	s->is_command = true;
	s->command = (struct commandline){ .name = s->name,
		.prepare = o->prepare,
		.conclude = o->conclude,
		.in_path = o->input,
		.show_output = o->show_output,
		.ignore_failure = o->ignore_failure,
		.cpu = o->has_cpu ? (int)o->cpu : -1 };
}

bool subject_is_program(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];

	for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
		snprintf(file, sizeof file, "%.*s/%s", (int)strcspn(path, ":"), path, name);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

void subject_note_command(const struct subject *s, struct err *e)
{
	const char *stmt = s->is_command ? "" : s->statement.stmt;
	char first[64], said[sizeof e->text];
	size_t n = strcspn(stmt, " \t");

	if (!n || e->code != ERR_MEASURED || n >= sizeof first || strpbrk(stmt, "\n()[]{}='\""))
		return;
	snprintf(first, sizeof first, "%.*s", (int)n, stmt);
	if (!subject_is_program(first))
		return;
	snprintf(said, sizeof said, "%s", e->text);
	err_set(e, ERR_MEASURED, "%s; to time a command: leadline bench -- %s", said, stmt);
}

/* The name of a file is no statement: what was meant with it. */
static int check_file_name(const char *word, struct err *e)
{
	struct stat st;

	if (strpbrk(word, " \t\n()[]{}=,'\"<>+*") || word[0] == '-')
		return 0;
	if (text_ends_with(word, ".py") && access(word, F_OK) < 0)
		return err_set(e, ERR_NO_FILE, "%s: there is no such file", word);
	if (strpbrk(word, "/.") && stat(word, &st) == 0 && S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE,
			"'%s' is a file, not a statement; to time a program: leadline bench -- %s",
			word, word);
	return 0;
}

int subject_parse(struct subject *ret, const struct subject_options *o, const char *word,
	const char *python, struct arena *a, struct err *e)
{
	if (!python && choose_python(o, a, &python, e) < 0)
		return -(int)e->code;
	*ret = (struct subject){ .name = word, .options = o };
	if (text_ends_with(word, ".py") && access(word, R_OK) == 0) {
		const char **words = arena_new_n(a, const char *, 3);

		words[0] = python;
		words[1] = word;
		command_defaults(ret, o);
		ret->command.argv = words;
		return 0;
	}
	if (check_file_name(word, e) < 0)
		return -(int)e->code;
	ret->statement = (struct statement){ .python = python,
		.stmt = word,
		.setup = joined_setup(o, a),
		.function = is_function(word) ? word : NULL,
		.gc = o->gc,
		.process_time = o->process_time,
		.sync_torch = o->sync == SUBJECT_SYNC_TORCH,
		.out = o->show_output ? CHILD_TO_STDERR : CHILD_NULL,
		.cpu = o->has_cpu ? (int)o->cpu : -1 };
	return 0;
}

int subject_parse_command(struct subject *ret, const struct subject_options *o, const char *text,
	double shell_s, struct arena *a, struct err *e)
{
	const char **words;

	*ret = (struct subject){ .name = text, .options = o };
	command_defaults(ret, o);
	if (o->no_shell) {
		ret->command.argv = (const char *const *)text_split_command(a, text);
		if (!ret->command.argv)
			return err_set(e, ERR_USAGE,
				"'%s' is empty, or a quote in it is not closed", text);
		return 0;
	}
	words = arena_new_n(a, const char *, 4);
	words[0] = shell_of(o);
	words[1] = "-c";
	words[2] = text;
	ret->command.argv = words;
	ret->command.subtract_s = shell_s;
	return 0;
}

void subject_take_words(
	struct subject *ret, const struct subject_options *o, char *const *words, struct arena *a)
{
	struct buf text = BUF_INIT;

	text_add_command(&text, words);
	*ret = (struct subject){ .name = arena_strdup(a, buf_str(&text)), .options = o };
	command_defaults(ret, o);
	ret->command.argv = (const char *const *)words;
	buf_done(&text);
}

int subject_check(const struct subject_options *o, struct err *e)
{
	cpu_set_t allowed;

	if (!o->has_cpu || sched_getaffinity(0, sizeof allowed, &allowed) < 0)
		return 0;
	if (o->cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)o->cpu, &allowed))
		return err_set(e, ERR_USAGE,
			"--pin %llu: not one of the %d CPUs that can be used here (counted from 0)",
			(unsigned long long)o->cpu, CPU_COUNT(&allowed));
	return 0;
}

int subject_shell_time(const struct subject_options *o, double *ret_s, struct err *e)
{
	*ret_s = 0;
	return o->no_shell ? 0 : commandline_shell_time(shell_of(o), ret_s, e);
}

int subject_before(const struct subject_options *o, struct err *e)
{
	for (size_t i = 0; i < o->setup.n; i++)
		if (commandline_shell(shell_of(o), o->setup.v[i], "--setup", e) < 0)
			return -(int)e->code;
	return 0;
}

int subject_after(const struct subject_options *o, struct err *e)
{
	return o->cleanup ? commandline_shell(shell_of(o), o->cleanup, "--cleanup", e) : 0;
}
