/* SPDX-License-Identifier: MIT
 *
 * A folder of our own while we run, mode 0700, under a name nobody has had (private_base.h says where):
 *
 *	private_dir_make(&d, PRIVATE_LARGE, sizeof d.path, e);	d.path is its name
 *	private_dir_remove(&d);					with all in it
 *
 * In it lies the file `lock`, locked as long as we live. What a killed leadline has left is removed by the next that makes a folder:
 * whoever holds the lock decides, so the folder of one that lives is never touched. */
#ifndef SYS_PRIVATE_DIR_H
#define SYS_PRIVATE_DIR_H

#include <stddef.h>

#include "sys/private_base.h"

struct private_dir {
	char path[PRIVATE_BASE_PATH]; /* "": there is none, and nothing is held */
	struct private_base base;
	int fd, lock;
};

/* The name takes path_bytes at most, its NUL included: a socket's address has little room. A place mounted noexec only when there
 * is no other. */
int private_dir_make(struct private_dir *d, enum private_use use, size_t path_bytes, struct err *e);
/* Accepts one that was not made, all zero. */
void private_dir_remove(struct private_dir *d);

#endif
