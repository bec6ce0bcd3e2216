/* SPDX-License-Identifier: MIT
 * Choosing among the Python processes of this machine, for `top` without a word. */
#ifndef CMD_TOP_PICK_H
#define CMD_TOP_PICK_H

#include <sys/types.h>

struct err;
struct terminal;

/* A list on the screen: arrows and Enter. *ret_pid is 0 when the user left; ERR_NO_PROCESS without any
 * Python to choose. */
int top_pick(struct terminal *t, pid_t *ret_pid, struct err *e);

#endif
