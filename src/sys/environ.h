/* SPDX-License-Identifier: MIT
 * Variables in the environment a process's program was started with. */
#ifndef SYS_ENVIRON_H
#define SYS_ENVIRON_H

#include <stddef.h>
#include <sys/types.h>

/* 1: `to` is its value, cut at size - 1 bytes; 0: it has none (`to` is ""); -1: we may not read it, or it has ended. */
int environ_find(pid_t pid, const char *name, char *to, size_t size);

#endif
