/* SPDX-License-Identifier: MIT
 *
 * The kernel's proc connector: news of each fork, exec and exit on a netlink socket. Before Linux 6.6 it
 * wants root, and in pid namespaces other than the first it is of no use. */
#ifndef SYS_CONNECTOR_H
#define SYS_CONNECTOR_H

/* A non-blocking socket that has asked for the news, or -1 with errno. The kernel's first message is its
 * answer to that. */
int connector_open(void);
/* Unsubscribes and closes it; -1 is fine. */
void connector_close(int fd);

#endif
