/* SPDX-License-Identifier: MIT
 *
 * Files out of memory: so that each run of a command reads from disk, as the first one after a reboot does. Which files
 * it opens is learned during its first run, from the kernel (fanotify; wants CAP_SYS_ADMIN); before each later run their pages
 * are written back and dropped.
 *
 *	cold_open(&c, folder, e);
 *	for each run: cold_before(&c, e); the run; cold_after(&c);
 *	cold_describe(&c, &text);
 *	cold_close(&c);
 *
 * What stays in memory: pages that a running program has mapped (of shared libraries, above all), names and inodes, what
 * the disk or the host keeps. A process that was gone before it was looked up may have been anybody's: what it opened is dropped, too,
 * which costs its owner a read and nothing else. */
#ifndef BENCH_COLD_H
#define BENCH_COLD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct buf;
struct err;

struct cold {
	const char *folder; /* the command's, borrowed; NULL: ours */
	pid_t self;
	int events; /* of fanotify; -1: the files are known */
	int stop;   /* eventfd: the run that teaches is over */
	bool is_learning;
	pthread_t learner;
	struct arena arena;       /* of the paths */
	VEC(const char *) files;  /* regular ones, each once */
	struct map known;         /* hashes of their devices and inodes */
	struct map processes;     /* pid → whether it is of the command */
	bool has_lost, is_cut;    /* events the kernel had no room for; files we had none for */
	uint64_t n_dropped;       /* files; these three of the last time */
	uint64_t dropped_bytes;   /* that were in memory before, and then no more */
	uint64_t remaining_bytes; /* that were and still are */
};

/* ERR_NO_PERMISSION without the right to. On failure nothing is held. */
int cold_open(struct cold *c, const char *folder, struct err *e);
/* Before a run: the first is listened to, for the later ones the files are dropped. */
int cold_before(struct cold *c, struct err *e);
/* After each run that cold_before came before. */
void cold_after(struct cold *c);
/* One line of what was done, with its newline. */
void cold_describe(const struct cold *c, struct buf *out);
void cold_close(struct cold *c);

#endif
