/* SPDX-License-Identifier: MIT
 * See prompt.h. */
#include "cmd/prompt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/tty.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/command.h"
#include "view/kit/keys.h"
#include "base/banned.h"

enum { ESCAPE_MS = 50 }; /* the rest of a key's bytes comes at once */

void prompt_init(struct prompt *p, edit_complete_fn *complete, void *ctx)
{
	const char *term = getenv("TERM");

	*p = (struct prompt){ .is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
			term && strcmp(term, "dumb") != 0 };
	p->edit.complete = complete;
	p->edit.ctx = ctx;
}

void prompt_done(struct prompt *p)
{
	edit_done(&p->edit);
}

/* What the editor moves the cursor with. */
static void send(const struct buf *bytes)
{
	struct err ignored = ERR_INIT;
	struct buf ascii = BUF_INIT;

	buf_write(ascii_where_needed(bytes, &ascii, ascii_add_cells), STDOUT_FILENO, &ignored);
	buf_done(&ascii);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool fill(struct prompt *p, int wait_ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	ssize_t n;
	int ready;

	while ((ready = poll(&in, 1, wait_ms)) < 0 && errno == EINTR)
		;
	if (ready <= 0)
		return false;
	n = read(STDIN_FILENO, p->pending + p->n_pending, sizeof p->pending - p->n_pending);
	if (n > 0)
		p->n_pending += (size_t)n;
	return n > 0;
}

/* False when nothing comes any more. */
static bool next_key(struct prompt *p, uint32_t *ret)
{
	bool is_all = false;
	size_t used;

	if (!p->n_pending && !fill(p, -1))
		return false;
	while ((used = keys_decode(p->pending, p->n_pending, is_all, ret)) == 0)
		is_all = p->n_pending == sizeof p->pending || !fill(p, ESCAPE_MS);
	p->n_pending -= used;
	memmove(p->pending, p->pending + used, p->n_pending);
	return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void show(struct prompt *p, const char *text, enum edit_result after)
{
	struct buf bytes = BUF_INIT;

	if (after == EDIT_CLEAR)
		buf_adds(&bytes, "\033[H\033[2J");
	if (after == EDIT_CHOICE)
		for (const char *at = buf_str(&p->edit.choices); *at; at++)
			buf_adds(&bytes, at == buf_str(&p->edit.choices) ? "\r\n" : ""),
				buf_addc(&bytes, *at == '\n' ? ' ' : *at);
	if (after == EDIT_CHOICE)
		buf_adds(&bytes, "\r\n");
	edit_draw(&p->edit, text, output_for(STDOUT_FILENO, COLOR_NEVER).width, &bytes);
	send(&bytes);
	buf_done(&bytes);
}

static bool edit_line(struct prompt *p, const char *text)
{
	enum edit_result result = EDIT_MORE;
	uint32_t key;

	edit_begin(&p->edit);
	show(p, text, EDIT_MORE);
	for (;;) {
		if (!next_key(p, &key))
			return false;
		result = edit_key(&p->edit, key);
		if (result == EDIT_END || result == EDIT_LINE_DONE)
			break;
		if (result == EDIT_CANCEL) {
			send(&(struct buf){ .data = (char *)"^C\r\n", .n = 4 });
			edit_begin(&p->edit);
		}
		show(p, text, result);
	}
	send(&(struct buf){ .data = (char *)"\r\n", .n = 2 });
	return result == EDIT_LINE_DONE;
}

static bool read_terminal(struct prompt *p, const char *text, struct buf *line)
{
	struct termios before, raw;
	bool is_line;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return false;
	raw = before;
	cfmakeraw(&raw);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	is_line = edit_line(p, text);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	buf_adds(line, buf_str(&p->edit.line));
	edit_remember(&p->edit, buf_str(line));
	return is_line;
}

static bool read_plain(const char *text, struct buf *line)
{
	struct buf shown = BUF_INIT;
	char *bytes = NULL;
	size_t size = 0;
	ssize_t n;

	buf_adds(&shown, text);
	output_write(STDOUT_FILENO, &shown);
	buf_done(&shown);
	n = getline(&bytes, &size, stdin);
	while (n > 0 && (bytes[n - 1] == '\n' || bytes[n - 1] == '\r'))
		n--;
	if (n >= 0)
		buf_add(line, bytes, (size_t)n);
	free(bytes);
	return n >= 0;
}

bool prompt_read(struct prompt *p, const char *text, struct buf *line)
{
	buf_clear(line);
	return p->is_terminal ? read_terminal(p, text, line) : read_plain(text, line);
}
