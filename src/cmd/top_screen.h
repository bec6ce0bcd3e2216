/* SPDX-License-Identifier: MIT
 *
 * The live view at work: a thread of its own that reads what was written of the recording, draws it and
 * takes keys, so that neither a slow terminal nor a large table delays a look. It shares nothing with
 * the recorder but the file and two descriptors to wake one another.
 *
 *	top_screen_start(&s, &options, &e);
 *	poll(options.stop)                readable: the user has left
 *	top_screen_tell(s, TOP_TELL_OVER);
 *	top_screen_finish(s, &result);    waits until the user has left */
#ifndef CMD_TOP_SCREEN_H
#define CMD_TOP_SCREEN_H

#include <stdbool.h>

#include "base/buf.h"

struct err;
struct terminal;
struct top_screen;

struct top_screen_options {
	struct terminal *terminal; /* borrowed, open */
	int recording;             /* borrowed: descriptor of the file */
	int stop;                  /* borrowed: an eventfd, raised when the user has left */
	int output;                /* borrowed: what a program of ours writes; -1 */
	const char *save_name;     /* what the recording would be called */
	bool is_named;             /* it is already */
	double rate_hz;
	bool gil; /* begin with time in which the GIL is held */
};

enum top_tell {
	TOP_TELL_SIZE = 1,  /* the terminal may have another */
	TOP_TELL_OVER = 2,  /* the recording is finished */
	TOP_TELL_LEAVE = 4, /* now, without questions */
};

struct top_screen_result {
	struct buf last; /* the last screen, for the normal one; the caller's */
	bool wants_save;
};

int top_screen_start(struct top_screen **ret, const struct top_screen_options *o, struct err *e);
void top_screen_tell(struct top_screen *s, enum top_tell what);
void top_screen_finish(struct top_screen *s, struct top_screen_result *ret);

#endif
