/* SPDX-License-Identifier: MIT
 *
 * Opening a file whose name is somebody else's: only a regular one, and nothing else is opened on the way, not even to see
 * that it is none. A FIFO would wait, a tape would rewind, a watchdog would start; files of /proc tell of whoever reads them. */
#ifndef SYS_REGULAR_H
#define SYS_REGULAR_H

/* To be read. folder: AT_FDCWD, or where relative names begin. -1 with errno: EINVAL for what is no regular file. */
int regular_open(int folder, const char *name);
/* The same of a descriptor (O_PATH), which is closed. own_fds: /proc/self/fd, for those who see no /proc any more; -1: the
 * one in /proc. Allocates nothing. */
int regular_reopen(int own_fds, int path);

#endif
