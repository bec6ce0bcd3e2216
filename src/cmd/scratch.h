/* SPDX-License-Identifier: MIT
 *
 * A folder of our own for what a command makes on the way: under $TMPDIR, else /tmp. Whoever makes it empties and removes it. */
#ifndef CMD_SCRATCH_H
#define CMD_SCRATCH_H

struct err;

enum { SCRATCH_PATH = 256 };

/* what_for: ends "cannot make a folder …". ret is "" when it fails. */
int scratch_make(char ret[SCRATCH_PATH], const char *what_for, struct err *e);

#endif
