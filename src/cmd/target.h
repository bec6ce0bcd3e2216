/* SPDX-License-Identifier: MIT
 * Which running process a user means: what `attach`, `top` and `dump` share. */
#ifndef CMD_TARGET_H
#define CMD_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

/* A number, or a name (see sys/lookup.h). Where a name fits several processes and with_children, the one that
 * all others descend from is meant; else they are listed on stderr and it is ERR_USAGE. */
int target_find(const char *word, bool with_children, pid_t *ret, struct err *e);

/* Whether there is Python to look at: in the process, or with_children in one it started; one that still
 * starts will do. Else what the process itself is, or why it may not be read. */
int target_check(pid_t pid, bool with_children, struct err *e);

#endif
