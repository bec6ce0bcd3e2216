/* SPDX-License-Identifier: MIT
 *
 * Where a job of PyTorch meets us: the folder it writes its traces into and, where its environment names a folder for that,
 * the socket it asks. The paths are the job's; so everything that is done with them is done by an errand with the rights of
 * the job, in its root (sys/errand.h): no more than the job could do itself. We hold no descriptor of its folders, only of
 * the socket.
 *
 *	torch_place_begin(&p, &options, &e);
 *	torch_place_listen(&p, "/run/jobs", &socket, &e);	where the job names a folder for sockets
 *	torch_place_make(&p, "/tmp", inside, &e);
 *	torch_place_has(&p, name); torch_place_copy(&p, name, to, stop, &e);
 *	torch_place_end(&p);					removes what was made
 */
#ifndef COLLECT_TORCH_PLACE_H
#define COLLECT_TORCH_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sys/errand.h"

struct buf;
struct err;
struct kineto_peer;
struct rights;

enum { TORCH_PLACE_PATH = 512 };

struct torch_place {
	struct errand errand; /* fd -1: none */
	int watch;            /* inotify: something changed in the folder; -1: none */
};

#define TORCH_PLACE_NONE ((struct torch_place){ .errand = ERRAND_NONE, .watch = -1 })

struct torch_place_options {
	pid_t pid;
	const struct rights *rights; /* of that process */
	int socket;                  /* one that we have already, borrowed; -1: none */
};

int torch_place_begin(struct torch_place *p, const struct torch_place_options *o, struct err *e);
/* The socket in a folder of the job's. ERR_SYSTEM with sys EADDRINUSE where somebody else has it. */
int torch_place_listen(struct torch_place *p, const char *folder, int *ret_socket, struct err *e);
/* A folder for traces in one of the job's; its path as the job sees it. */
int torch_place_make(
	struct torch_place *p, const char *base, char inside[TORCH_PLACE_PATH], struct err *e);
/* Answers a program that asked (kineto_answer): the address is its word, and may be a path. */
bool torch_place_answer(
	struct torch_place *p, const struct kineto_peer *peer, const struct buf *config);
/* Whether there is such a regular file in the folder for traces. */
bool torch_place_has(struct torch_place *p, const char *name);
/* Copies it, unless `stop` becomes readable. */
int torch_place_copy(struct torch_place *p, const char *name, int to, int stop, struct err *e);
/* Whether nobody does our work any more: the job's user may end whoever has its rights. */
bool torch_place_is_lost(const struct torch_place *p);
int torch_place_tell_lost(struct err *e);
/* Accepts one that failed. */
void torch_place_end(struct torch_place *p);

#endif
