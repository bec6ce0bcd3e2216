/* SPDX-License-Identifier: MIT
 * What commands share in talking to the user: width, colour, errors, help of one command. */
#include "cmd/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/tty.h"
#include "store/damage.h"
#include "store/reader.h"
#include "base/banned.h"

/* Pages of fewer columns say nothing. */
enum { COLUMNS_LEAST = 20 };

const char *const color_choices[] = { "auto", "always", "never", NULL };

static bool wants_colour(int fd, int choice)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (choice != COLOR_AUTO)
		return choice == COLOR_ALWAYS;
	return isatty(fd) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

struct output output_for(int fd, int color_choice)
{
	size_t columns = tty_columns(fd);

	return (struct output){ .colour = wants_colour(fd, color_choice),
		.width = columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns };
}

/* Whoever gave it to us opened its file for us. */
static bool is_descriptor(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
}

int output_may_write(const char *path, bool force, struct err *e)
{
	struct stat st;

	if (!path || force || is_descriptor(path) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return err_set(e, ERR_SYSTEM, "%s already exists; --force overwrites it", path);
}

static int write_all(int fd, const struct buf *text)
{
	struct err e = ERR_INIT;
	struct buf ascii = BUF_INIT;
	int status = buf_write(ascii_where_needed(text, &ascii, ascii_add), fd, &e);

	buf_done(&ascii);
	if (status == 0 || e.sys == EPIPE)
		return 0;
	if (fd != STDERR_FILENO)
		output_line(STDERR_FILENO, "leadline: %s", e.text);
	return err_exit_status(&e);
}

/* Bytes of a colour, as style.c writes them; 0 for anything else. */
static size_t colour_at(const char *s, size_t n)
{
	size_t at = 2;

	if (n < 4 || s[0] != '\033' || s[1] != '[')
		return 0;
	while (at < n && at < 6 && ((s[at] >= '0' && s[at] <= '9') || s[at] == ';'))
		at++;
	return at < n && s[at] == 'm' ? at + 1 : 0;
}

static bool is_harmless(const struct buf *text)
{
	for (size_t i = 0; i < text->n; i++) {
		unsigned char c = (unsigned char)text->data[i];

		if ((c < ' ' && c != '\n' && c != '\t') || c >= 0x7f)
			return false;
	}
	return true;
}

static void add_harmless(struct buf *to, const struct buf *text)
{
	for (size_t at = 0; at < text->n;) {
		const char *s = text->data + at;
		size_t left = text->n - at, n = colour_at(s, left);
		uint32_t c;

		if (!n && (*s == '\n' || *s == '\t' || (*s == '\r' && left > 1 && s[1] == '\n')))
			n = 1;
		if (n) {
			buf_add(to, s, n);
		} else {
			n = text_decode(s, left, &c);
			text_add_printable(to, s, n);
		}
		at += n;
	}
}

int output_write(int fd, const struct buf *text)
{
	struct buf harmless = BUF_INIT;
	int status;

	if (is_harmless(text))
		return write_all(fd, text);
	add_harmless(&harmless, text);
	status = write_all(fd, &harmless);
	buf_done(&harmless);
	return status;
}

int output_line(int fd, const char *fmt, ...)
{
	struct buf text = BUF_INIT, line = BUF_INIT;
	va_list ap;
	int status;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	text_add_line(&line, "%s", buf_str(&text));
	fflush(fd == STDOUT_FILENO ? stdout : stderr); /* what printf said before */
	status = write_all(fd, &line);
	buf_done(&text);
	buf_done(&line);
	return status;
}

void command_tell_missing(const char *path, const char *text)
{
	if (*text)
		output_line(STDERR_FILENO, "leadline: %s: %s", path, text);
}

const char *command_tell_damage(struct arena *a, struct reader *r, const char *path)
{
	char text[DAMAGE_TEXT];

	reader_check(r);
	damage_describe(&r->damage, text);
	command_tell_missing(path, text);
	return arena_strdup(a, text);
}

int command_fail(const struct command *self, const struct err *e)
{
	const char *advice = err_advice(e);
	bool names_itself = self && strncmp(e->text, self->name, strlen(self->name)) == 0;

	if (e->code == ERR_HELP && self)
		return command_usage(self);
	/* It may quote a hostile file. */
	output_line(STDERR_FILENO, "leadline: %s%s%s", self && !names_itself ? self->name : "",
		self && !names_itself ? ": " : "", e->text);
	if (e->code == ERR_USAGE && self)
		output_line(STDERR_FILENO, "  see 'leadline help %s'", self->name);
	else if (*advice)
		output_line(STDERR_FILENO, "  %s", advice);
	if (self && self->runs_program && e->code != ERR_NOT_FOUND &&
		e->code != ERR_NOT_EXECUTABLE && e->code != ERR_NO_AGENT)
		return 125;
	return err_exit_status(e);
}

int command_usage(const struct command *self)
{
	struct output o = output_for(STDOUT_FILENO, COLOR_AUTO);
	struct buf text = BUF_INIT;
	int status;

	buf_printf(&text, "leadline %s %s\n\n%s.\n", self->name, self->arguments, self->summary);
	if (self->alias)
		buf_printf(&text, "Also: leadline %s\n", self->alias);
	if (self->n_options) {
		buf_adds(&text, "\nOptions\n");
		opts_help(self->options, self->n_options, &text, o.width);
	}
	if (self->examples)
		buf_printf(&text, "\nExamples\n%s", self->examples);
	status = output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}
