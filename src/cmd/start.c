/* SPDX-License-Identifier: MIT
 * See start.h. */
#include "cmd/start.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/opts.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/recorder.h"
#include "sys/interpreters.h"
#include "base/banned.h"

enum { BEFORE_MOST = 512 }; /* of a statement, before the module it imports */

/* Whether this word is an option of ours whose value is the next word. */
static bool takes_next(const struct opt *options, size_t n_options, const char *word)
{
	for (size_t i = 0; i < n_options; i++) {
		const struct opt *o = &options[i];

		if (o->kind == OPT_FLAG || o->optional_value)
			continue;
		if ((o->letter && word[0] == '-' && word[1] == o->letter && !word[2]) ||
			(word[0] == '-' && word[1] == '-' && strcmp(word + 2, o->name) == 0))
			return true;
	}
	return false;
}

int start_our_words(const struct opt *options, size_t n_options, int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
		bool is_module = strcmp(argv[i], "-m") == 0 || strcmp(argv[i], "--module") == 0;

		if (is_module)
			return i + 2 < argc ? i + 2 : argc;
		i += takes_next(options, n_options, argv[i]);
	}
	return argc;
}

bool start_is_script(const char *name)
{
	struct stat st;

	if (text_ends_with(name, ".py"))
		return true;
	return strchr(name, '/') && stat(name, &st) == 0 && S_ISREG(st.st_mode) &&
		access(name, X_OK) != 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* What stands before the module's name in its statement makes it an import: "from ", or "import" anywhere, as in
 * "import os, " and "import_module('". */
static bool is_import(const char *begin, size_t n)
{
	static const char from[] = "from";

	if (n > BEFORE_MOST) {
		begin += n - BEFORE_MOST;
		n = BEFORE_MOST;
	}
	while (n && isspace((unsigned char)*begin)) {
		begin++;
		n--;
	}
	if (n > strlen(from) && strncmp(begin, from, strlen(from)) == 0 &&
		strspn(begin + strlen(from), " \t") == n - strlen(from))
		return true;
	return memmem(begin, n, "import", strlen("import")) != NULL;
}

static bool line_imports(const char *line, size_t n, const char *module)
{
	const char *comment = memchr(line, '#', n), *end = comment ? comment : line + n;
	const char *statement = line;
	size_t n_module = strlen(module);

	for (const char *at = line; at + n_module <= end; at++) {
		if (*at == ';' || *at == ':')
			statement = at + 1;
		if (strncmp(at, module, n_module) == 0 && (at == line || !is_word(at[-1])) &&
			(at + n_module == end || at[n_module] == '.' || !is_word(at[n_module])) &&
			is_import(statement, (size_t)(at - statement)))
			return true;
	}
	return false;
}

bool start_imports(const char *source, const char *module)
{
	while (*source) {
		size_t n = strcspn(source, "\r\n");

		if (line_imports(source, n, module))
			return true;
		source += n + (source[n] != '\0');
	}
	return false;
}

int start_make(struct start *s, char **operands, struct err *e)
{
	static char minus_m[] = "-m";
	char own[4096];
	struct interpreter_places places = interpreter_places_read(own, sizeof own);
	const char *why = "--python";

	if (!s->module && text_ends_with(operands[0], ".py") && access(operands[0], F_OK) != 0)
		return err_set(e, ERR_NOT_FOUND, "%s: no such file", operands[0]);
	if (s->module || start_is_script(operands[0])) {
		if (s->python)
			snprintf(s->interpreter, sizeof s->interpreter, "%s", s->python);
		else if (!interpreter_choose(&places, s->interpreter, sizeof s->interpreter, &why))
			return err_set(
				e, ERR_NOT_FOUND, "no python3 found; name one with --python");
		output_line(STDERR_FILENO, "leadline: %s (%s)", s->interpreter, why);
		vec_push(&s->words, s->interpreter);
	}
	if (s->module) {
		vec_push(&s->words, minus_m);
		vec_push(&s->words, (char *)s->module);
	}
	for (; *operands; operands++)
		vec_push(&s->words, *operands);
	vec_push(&s->words, NULL);
	return 0;
}

void start_done(struct start *s)
{
	vec_done(&s->words);
}

void start_stem(const struct start *s, const char *first, char *to, size_t size)
{
	const char *base = s->module  ? s->module
		: strrchr(first, '/') ? strrchr(first, '/') + 1
				      : first;

	recorder_stem(base, to, size);
}
