/* SPDX-License-Identifier: MIT
 *
 * Files by names that came out of a program: what the program itself could read, and nothing else. Names are looked up in its
 * root, from its working folder on, with its rights as they were when it was first looked at or lower (rights_lower), regular
 * files only. Where we have no more rights than it has, and its root is ours, we open them ourselves; else an errand does
 * (sys/errand.h), which is begun when the first file is asked for and given up when a file takes too long.
 *
 *	struct reach r;
 *
 *	reach_init(&r, pid);
 *	reach_lower(&r, pid);				again, while it runs
 *	reach_load(&r, "mod.py", most, &text, NULL);
 *	reach_rest(&r);					ends the errand, until the next file
 *	reach_done(&r);
 */
#ifndef SYS_REACH_H
#define SYS_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sys/errand.h"
#include "sys/rights.h"

struct buf;

struct reach {
	struct rights rights;
	int root, folder; /* O_PATH; -1: ours, and none */
	char *name;       /* owned; of its working folder where its root is ours, NULL unknown */
	bool is_other;    /* its root is not ours, though it could not be kept */
	struct errand errand;
	bool has_errand, is_given_up;
	bool is_direct, is_decided; /* which way files are opened */
};

#define REACH_NONE ((struct reach){ .root = -1, .folder = -1, .errand = ERRAND_NONE })

/* Whether a process sees files as we do, as far as can be told: one that has ended does. */
bool reach_is_our_root(pid_t pid);

/* Of a process as it is now. */
void reach_init(struct reach *r, pid_t pid);
/* Of no process: with these rights (taken over), by absolute names in the folder `root` ("": ours). */
void reach_init_user(struct reach *r, struct rights *rights, const char *root);
void reach_lower(struct reach *r, pid_t pid);
void reach_rest(struct reach *r);
void reach_done(struct reach *r);

/* How many descriptors it keeps open. */
unsigned reach_descriptors(const struct reach *r);
/* Gives them up: files are then found only where its root is ours. */
void reach_forget(struct reach *r);

/* A descriptor to be read, or -1 with errno. */
int reach_open(struct reach *r, const char *name);
/* The whole file, behind what is in `to`. 0, or a negative errno: -EFBIG where it has more than `most` bytes (of which ret_size_bytes
 * tells how many). Both may be NULL. */
int reach_load(struct reach *r, const char *name, size_t most, struct buf *to,
	int64_t *ret_changed_ns, uint64_t *ret_size_bytes);

#endif
