/* SPDX-License-Identifier: MIT
 *
 * A process of ours that works with somebody else's rights, in somebody else's root: what it does, they could have done
 * themselves, so no path of theirs can turn our rights against us. It is a child without our descriptors that may not be
 * looked into, and it is waited for no longer than a time: their file systems may never answer.
 *
 *	static void work(struct errand *own, void *ctx) …	in the child; errand_receive and errand_send
 *
 *	errand_begin(&x, &(struct errand_options){ .rights = &r, .root = fd, .work = work });
 *	errand_send(&x, …) && errand_receive(&x, …)
 *	errand_end(&x);
 *
 * In the child no memory is to be allocated: there may have been threads. */
#ifndef SYS_ERRAND_H
#define SYS_ERRAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rights;

enum { ERRAND_KEEP_MOST = 4, ERRAND_WAIT_MS = 5000 };

struct errand {
	pid_t pid;
	int fd;      /* to the other end */
	int own_fds; /* in the child: its /proc/self/fd, from before it went into another root */
	int64_t left_ms; /* that the other end may keep us waiting */
	bool is_late;    /* it did not answer in time, or at all: nothing works any more */
};

#define ERRAND_NONE ((struct errand){ .fd = -1, .own_fds = -1 })

struct errand_options {
	const struct rights *rights; /* NULL: ours */
	int root;                    /* a folder; -1: ours */
	void (*work)(struct errand *own, void *ctx);
	void *ctx;
	int keep[ERRAND_KEEP_MOST]; /* descriptors that the child needs; the first n_keep */
	int n_keep;
	bool tidies_up; /* goes on when we are killed, until its work returns */
	int64_t all_ms; /* the longest that all answers together may take; 0: any time */
};

/* False with errno: there is no such process, or it may not have those rights or that root. */
bool errand_begin(struct errand *x, const struct errand_options *o);
/* Closes the connection, which ends the child, and if not by itself, then by force. */
void errand_end(struct errand *x);

/* All n bytes, or false. A descriptor goes with the first of them; -1: none. */
bool errand_send(struct errand *x, const void *data, size_t n, int fd);
/* All n bytes within ERRAND_WAIT_MS (in the child: whenever they come), or false. ret_fd may be NULL. */
bool errand_receive(struct errand *x, void *data, size_t n, int *ret_fd);

#endif
