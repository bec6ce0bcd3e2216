/* SPDX-License-Identifier: MIT
 *
 * One line being typed: keys in (keys.h), text and cursor out, with what was typed before it and words to complete.
 * Knows nothing of terminals; edit_draw says what to send to one.
 *
 *	struct edit e = { 0 };
 *	edit_begin(&e);
 *	while (edit_key(&e, key) == EDIT_MORE)
 *		edit_draw(&e, "% ", 80, &bytes);
 *	edit_done(&e);
 *
 * Keys are those of Emacs and of most prompts: ← → Home End ^A ^E ^B ^F move, ^H ^D ^K ^U ^W delete, ↑ ↓ ^P ^N
 * go through what was typed before, Tab completes, ^L asks for a clean screen. */
#ifndef VIEW_KIT_EDIT_H
#define VIEW_KIT_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"

enum { EDIT_LINE = 4096, EDIT_HISTORY = 1000 }; /* bytes; lines kept */

enum edit_result {
	EDIT_MORE, /* draw it and wait for the next key */
	EDIT_LINE_DONE,
	EDIT_END,    /* ^D on an empty line */
	EDIT_CANCEL, /* ^C */
	EDIT_CLEAR,  /* as MORE, on a clean screen */
	EDIT_CHOICE, /* as MORE, after showing `choices` */
};

/* Appends words that could stand at line[from …), separated by newlines. */
typedef void edit_complete_fn(void *ctx, const char *line, size_t from, struct buf *words);

struct edit {
	struct buf line;
	size_t at;                  /* cursor, bytes */
	struct buf choices;         /* several completions, a line each */
	VEC(char *) history;        /* owned, oldest first */
	size_t history_at;          /* = history.n: the line itself */
	struct buf kept;            /* the line while an older one is shown */
	edit_complete_fn *complete; /* NULL: Tab does nothing */
	void *ctx;
};

void edit_begin(struct edit *e); /* an empty line */
enum edit_result edit_key(struct edit *e, uint32_t key);
/* Bytes that show the line behind the prompt, cut to `width` columns around the cursor. */
void edit_draw(const struct edit *e, const char *prompt, size_t width, struct buf *out);
void edit_remember(struct edit *e, const char *line); /* not twice in a row, not empty ones */
void edit_done(struct edit *e);

#endif
