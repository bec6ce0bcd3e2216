/* SPDX-License-Identifier: MIT
 *
 * The terminal as a screen and a keyboard: entered and, whatever happens, left as it was found. The
 * descriptors are our own, so that a program may get others for its standard streams.
 *
 *	struct terminal t;
 *	terminal_open(&t, &e);          refuses what is no terminal
 *	terminal_enter(&t);             the other screen, keys at once
 *	terminal_write(&t, &bytes);
 *	terminal_leave(&t);             also by itself when we crash
 *	terminal_close(&t);
 */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct buf;
struct err;

struct terminal {
	int in, out; /* owned */
	bool is_entered, has_hung_up;
	bool colour; /* NO_COLOR is not set */
	struct termios before;
};

/* ERR_USAGE, with what to use instead, when standard output is no terminal that can place a cursor.
 * Keys come from standard input, or where that is no terminal from the controlling one. */
int terminal_open(struct terminal *t, struct err *e);
void terminal_close(struct terminal *t); /* leaves first */

void terminal_enter(struct terminal *t);
void terminal_leave(struct terminal *t);

void terminal_size(const struct terminal *t, int *ret_rows, int *ret_columns);
/* A terminal that is gone sets has_hung_up; so does the read. */
void terminal_write(struct terminal *t, const struct buf *bytes);
/* The bytes of keys that are there; 0: none. Does not wait. */
size_t terminal_read(struct terminal *t, char *to, size_t size);

#endif
