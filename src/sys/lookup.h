/* SPDX-License-Identifier: MIT
 *
 * Processes by the name people have for them: the program's, or the script or module a Python runs.
 * From /proc alone; nothing of the processes is read but what everybody may see. */
#ifndef SYS_LOOKUP_H
#define SYS_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

enum { LOOKUP_NAME = 256 };

struct lookup_process {
	pid_t pid, parent;
	char name[LOOKUP_NAME]; /* script or module of a Python, else the program's name */
	bool is_python;         /* by the name of its program: a guess, embedded ones do not show */
};

typedef VEC(struct lookup_process) lookup_processes;

/* The name of a process whose /proc/PID/cmdline holds these n bytes (words ended by NUL; 0 for kernel
 * threads) and whose comm is this. */
void lookup_name(const char *cmdline, size_t n, const char *comm, struct lookup_process *ret);

/* Fills name and is_python; false when there is no such process. */
bool lookup_pid(pid_t pid, struct lookup_process *ret);

/* All processes that are called so, by pid: "train.py" and "train" find `python /x/train.py`, "http.server"
 * finds `python -m http.server`, a comm or the name of the program finds any other. NULL: all whose program
 * is a Python. Kernel threads and we ourselves are left out. The caller does vec_done. */
void lookup_all(const char *name, lookup_processes *ret);

#endif
