/* SPDX-License-Identifier: MIT
 * What commands share in talking to the user: width, colour, errors, help of one command. */
#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "store/damage.h"
#include "store/reader.h"
#include "base/banned.h"

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
	struct output o = { .colour = wants_colour(fd, color_choice), .width = 80 };
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		o.width = size.ws_col < 240 ? size.ws_col : 240;
	return o;
}

int output_write(int fd, const struct buf *text)
{
	struct err e = ERR_INIT;

	if (buf_write(text, fd, &e) == 0 || e.sys == EPIPE)
		return 0;
	fprintf(stderr, "leadline: %s\n", e.text);
	return err_exit_status(&e);
}

void command_tell_missing(const char *path, const char *text)
{
	struct buf line = BUF_INIT;

	if (!*text)
		return;
	buf_adds(&line, "leadline: ");
	text_add_printable(&line, path, strlen(path));
	buf_adds(&line, ": ");
	text_add_printable(&line, text, strlen(text));
	buf_addc(&line, '\n');
	output_write(STDERR_FILENO, &line);
	buf_done(&line);
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
	struct buf text = BUF_INIT;

	text_add_printable(&text, e->text, strlen(e->text)); /* it may quote a hostile file */
	fprintf(stderr, "leadline: %s%s%s\n", self && !names_itself ? self->name : "",
		self && !names_itself ? ": " : "", buf_str(&text));
	buf_done(&text);
	if (e->code == ERR_USAGE && self)
		fprintf(stderr, "  see 'leadline help %s'\n", self->name);
	else if (*advice)
		fprintf(stderr, "  %s\n", advice);
	if (self && self->runs_program && e->code != ERR_NOT_FOUND && e->code != ERR_NOT_EXECUTABLE)
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
