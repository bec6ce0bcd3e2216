/* SPDX-License-Identifier: MIT
 *
 * Which thread of the system a thread state belongs to: its id as /proc names it here.
 *
 * From 3.11 on the thread state says it. Before, it only has pthread_self(), the address of libc's own
 * struct, which holds the id at an offset that differs between libcs: the offset is searched once, as the
 * place where an id of one of the process's threads stands, and serves for the other threads. Both give the
 * id in the target's pid namespace; it is translated where that is not ours. */
#ifndef COLLECT_SAMPLES_TID_H
#define COLLECT_SAMPLES_TID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"

struct mem;
struct py_layout;

struct py_tids {
	pid_t pid;
	bool is_ours;    /* the target's namespace is ours: ids need no translation */
	uint32_t offset; /* of the id in libc's struct; 0: not found yet */
	struct map ours; /* id in the target's namespace → ours */
};

/* pid 0: of no live process; then py_tids_add tells which threads there were. */
void py_tids_init(struct py_tids *t, pid_t pid);
void py_tids_add(struct py_tids *t, pid_t tid);
void py_tids_done(struct py_tids *t);

/* state: bytes of the thread state. 0 when its thread is not to be found: not begun, ended, or a libc that
 * keeps no id. */
uint32_t py_tids_find(struct py_tids *t, const struct py_layout *l, const struct mem *m,
	const unsigned char *state);

#endif
