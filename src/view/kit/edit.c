/* SPDX-License-Identifier: MIT
 * See edit.h. */
#include "view/kit/edit.h"

#include <string.h>

#include "base/text.h"
#include "view/kit/keys.h"
#include "base/banned.h"

/* ---- the line -------------------------------------------------------------------------------- */

static void set_line(struct edit *e, const char *text)
{
	buf_clear(&e->line);
	buf_adds(&e->line, text);
	e->at = e->line.n;
}

static void insert(struct edit *e, const char *bytes, size_t n)
{
	if (e->line.n + n > EDIT_LINE)
		return;
	buf_reserve(&e->line, n);
	memmove(e->line.data + e->at + n, e->line.data + e->at, e->line.n - e->at);
	memcpy(e->line.data + e->at, bytes, n);
	buf_advance(&e->line, n);
	e->at += n;
}

static void cut(struct edit *e, size_t from, size_t to)
{
	memmove(e->line.data + from, e->line.data + to, e->line.n - to + 1);
	e->line.n -= to - from;
	e->at = from;
}

/* Begin of the character before, end of the one behind. */
static size_t before(const struct edit *e, size_t at)
{
	while (at > 0 && ((unsigned char)e->line.data[--at] & 0xc0) == 0x80)
		;
	return at;
}

static size_t behind(const struct edit *e, size_t at)
{
	uint32_t c;

	return at < e->line.n ? at + text_decode(e->line.data + at, e->line.n - at, &c) : at;
}

static size_t word_begin(const struct edit *e)
{
	size_t at = e->at;

	while (at > 0 && e->line.data[at - 1] == ' ')
		at--;
	while (at > 0 && e->line.data[at - 1] != ' ')
		at--;
	return at;
}

/* ---- what was typed before ------------------------------------------------------------------- */

static void go_in_history(struct edit *e, int step)
{
	if (step < 0 ? e->history_at == 0 : e->history_at == e->history.n)
		return;
	if (e->history_at == e->history.n) {
		buf_clear(&e->kept);
		buf_adds(&e->kept, buf_str(&e->line));
	}
	e->history_at += (size_t)step;
	set_line(
		e, e->history_at == e->history.n ? buf_str(&e->kept) : e->history.v[e->history_at]);
}

void edit_remember(struct edit *e, const char *line)
{
	if (!*line || (e->history.n && strcmp(e->history.v[e->history.n - 1], line) == 0))
		return;
	if (e->history.n == EDIT_HISTORY) {
		free(e->history.v[0]);
		memmove(e->history.v, e->history.v + 1, (e->history.n - 1) * sizeof *e->history.v);
		e->history.n--;
	}
	vec_push(&e->history, xstrdup(line));
}

/* ---- completion ------------------------------------------------------------------------------ */

/* Bytes all the words begin with. */
static size_t common(const char *words)
{
	const char *first = words, *end = strchrnul(words, '\n');
	size_t n = (size_t)(end - first);

	for (const char *at = *end ? end + 1 : end; *at; at = *end ? end + 1 : end) {
		size_t k = 0;

		end = strchrnul(at, '\n');
		while (k < n && at + k < end && at[k] == first[k])
			k++;
		n = k;
	}
	return n;
}

static enum edit_result complete(struct edit *e)
{
	struct buf words = BUF_INIT;
	size_t from = e->at, typed, n;
	enum edit_result result = EDIT_MORE;

	while (from > 0 && e->line.data[from - 1] != ' ')
		from--;
	typed = e->at - from;
	if (e->complete)
		e->complete(e->ctx, buf_str(&e->line), from, &words);
	while (words.n && words.data[words.n - 1] == '\n')
		words.data[--words.n] = '\0';
	n = words.n ? common(buf_str(&words)) : 0;
	if (n > typed)
		insert(e, words.data + typed, n - typed);
	if (words.n && !memchr(words.data, '\n', words.n)) {
		if (e->at == e->line.n && words.data[words.n - 1] != '/')
			insert(e, " ", 1);
	} else if (words.n && n <= typed) {
		buf_clear(&e->choices);
		buf_adds(&e->choices, buf_str(&words));
		result = EDIT_CHOICE;
	}
	buf_done(&words);
	return result;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void move(struct edit *e, uint32_t key)
{
	switch (key) {
	case KEY_LEFT:
	case 'B' & 0x1f:
		e->at = before(e, e->at);
		break;
	case KEY_RIGHT:
	case 'F' & 0x1f:
		e->at = behind(e, e->at);
		break;
	case KEY_HOME:
	case 'A' & 0x1f:
		e->at = 0;
		break;
	case KEY_END:
	case 'E' & 0x1f:
		e->at = e->line.n;
		break;
	case KEY_UP:
	case 'P' & 0x1f:
		go_in_history(e, -1);
		break;
	case KEY_DOWN:
	case 'N' & 0x1f:
		go_in_history(e, 1);
		break;
	}
}

static bool erase(struct edit *e, uint32_t key)
{
	switch (key) {
	case KEY_ERASE:
		cut(e, before(e, e->at), e->at);
		return true;
	case 'D' & 0x1f:
		cut(e, e->at, behind(e, e->at));
		return true;
	case 'K' & 0x1f:
		cut(e, e->at, e->line.n);
		return true;
	case 'U' & 0x1f:
		cut(e, 0, e->at);
		return true;
	case 'W' & 0x1f:
		cut(e, word_begin(e), e->at);
		return true;
	}
	return false;
}

enum edit_result edit_key(struct edit *e, uint32_t key)
{
	struct buf bytes = BUF_INIT;

	if (key == KEY_ENTER)
		return EDIT_LINE_DONE;
	if (key == ('C' & 0x1f))
		return EDIT_CANCEL;
	if (key == ('D' & 0x1f) && e->line.n == 0)
		return EDIT_END;
	if (key == ('L' & 0x1f))
		return EDIT_CLEAR;
	if (key == '\t')
		return complete(e);
	if (erase(e, key))
		return EDIT_MORE;
	if (key < ' ' || key >= KEY_UNKNOWN) {
		move(e, key);
		return EDIT_MORE;
	}
	text_add_char(&bytes, key);
	insert(e, bytes.data, bytes.n);
	buf_done(&bytes);
	return EDIT_MORE;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Columns of line[from … to). */
static size_t columns(const struct edit *e, size_t from, size_t to)
{
	size_t n = 0;
	uint32_t c;

	while (from < to) {
		from += text_decode(e->line.data + from, e->line.n - from, &c);
		n += (size_t)text_char_width(c);
	}
	return n;
}

void edit_draw(const struct edit *e, const char *prompt, size_t width, struct buf *out)
{
	size_t used = text_width(prompt), room = width > used + 8 ? width - used - 1 : 8;
	size_t from = 0, to = e->line.n;

	while (columns(e, from, e->at) > room)
		from = behind(e, from);
	while (columns(e, from, to) > room)
		to = before(e, to);
	buf_printf(out, "\r%s", prompt);
	if (to > from)
		buf_add(out, e->line.data + from, to - from);
	buf_adds(out, "\033[K\r");
	if (used + columns(e, from, e->at))
		buf_printf(out, "\033[%zuC", used + columns(e, from, e->at));
}

void edit_begin(struct edit *e)
{
	set_line(e, "");
	e->history_at = e->history.n;
}

void edit_done(struct edit *e)
{
	vec_each (&e->history, line)
		free(*line);
	vec_done(&e->history);
	buf_done(&e->line);
	buf_done(&e->choices);
	buf_done(&e->kept);
}
