/* SPDX-License-Identifier: MIT
 *
 * A prompt: asks for lines on standard input. On a terminal lines can be edited and come again (view/kit/edit.h);
 * from elsewhere they are read as they are, after the prompt was written, as Python's input() does.
 *
 *	struct prompt p;
 *	prompt_init(&p, complete, ctx);
 *	while (prompt_read(&p, "% ", &line))
 *		do_it(buf_str(&line));
 *	prompt_done(&p);
 */
#ifndef CMD_PROMPT_H
#define CMD_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "view/kit/edit.h"

struct prompt {
	struct edit edit;
	bool is_terminal;
	char pending[64]; /* bytes of keys that were typed ahead */
	size_t n_pending;
};

void prompt_init(struct prompt *p, edit_complete_fn *complete, void *ctx);
/* The next line without its end; false at the end of input. */
bool prompt_read(struct prompt *p, const char *text, struct buf *line);
void prompt_done(struct prompt *p);

#endif
