/* SPDX-License-Identifier: MIT
 *
 * The folder of this user's in which everything lies that has to have a name while we run. Others must never be able to make a
 * name in it, before, while or after we run: programs we start keep such names in their environment (PYTHONPATH,
 * LEADLINE_SESSION), and some outlive us. So a place is believed only when every folder from / on is root's or ours and no
 * one else can write it, as checked on opened descriptors:
 *
 *	$XDG_RUNTIME_DIR/leadline
 *	$TMPDIR/leadline
 *	/run/leadline			for root
 *	$XDG_CACHE_HOME/leadline/run	or ~/.cache/leadline/run
 *	/tmp/leadline-UID		where there is nothing better: everyone can write /tmp, but nobody can take what is
 *	$TMPDIR/leadline-UID		there already (sticky), so the folder is made once and stays. It must be ours, 0700.
 *
 * The folder is never removed: the name would be free. */
#ifndef SYS_PRIVATE_BASE_H
#define SYS_PRIVATE_BASE_H

#include <stdbool.h>

struct err;

enum private_use {
	PRIVATE_SMALL, /* what programs load and talk through: in memory where there is such a place */
	PRIVATE_LARGE, /* recordings, traces, checkouts: on disk where there is such a place */
};

enum { PRIVATE_PLACES = 6, PRIVATE_BASE_PATH = 4096 };

struct private_base {
	int fd;                       /* of the folder; -1: none */
	bool is_noexec;               /* nothing can be loaded from it */
	char path[PRIVATE_BASE_PATH]; /* absolute, without symbolic links */
};

#define PRIVATE_BASE_INIT ((struct private_base){ .fd = -1 })

/* The i-th place for that use, below PRIVATE_PLACES; made where it is missing, if it may be. While it is open nothing in it is
 * too old for a cleaner (flock, as systemd-tmpfiles has it). */
int private_base_open(
	struct private_base *b, enum private_use use, unsigned i, bool may_make, struct err *e);
void private_base_close(struct private_base *b);

/* A folder that is there: only root and we can change what is in it, or what its name stands for as long as it is there. -1 with errno, EPERM where
 * others could. */
int private_open_trusted(const char *path);

#endif
