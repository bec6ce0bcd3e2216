/* SPDX-License-Identifier: MIT
 *
 * Traces on demand from a running job of PyTorch: a process and those it started, each of which is told when it next asks
 * (collect/torch/kineto.h; every 5 s) and writes its trace into a folder of ours.
 *
 *	struct torch_job job;
 *
 *	if (torch_job_begin(&job, &wish, &e) == 0 && torch_job_wait(&job, &e) == 0)
 *		for (size_t i = 0; i < job.parts.n; i++) …
 *	torch_job_done(&job);
 */
#ifndef COLLECT_TORCH_JOB_H
#define COLLECT_TORCH_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/vec.h"
#include "collect/torch/place.h"

struct err;

struct torch_wish {
	pid_t pid;
	bool is_single;     /* without the processes it started */
	uint64_t length_ns; /* all begin at one moment; or, with steps, each when it hears of it */
	uint64_t n_steps;
};

struct torch_part { /* a process that was told */
	pid_t pid, own_pid;
	int pidfd; /* -1: gone, or not to be had */
	bool is_written;
	bool is_missed; /* it asks for work again and again, and has written nothing: it could not */
	unsigned n_asked; /* since it should have begun */
};

struct torch_job {
	struct torch_wish wish;
	int socket;                    /* -1: a dynolog has it, which was asked */
	int signals;                   /* -1: none */
	struct torch_place place;      /* where traces are written */
	char inside[TORCH_PLACE_PATH]; /* its path as the job sees it */
	struct buf config;
	uint64_t asked_until_ns; /* CLOCK_MONOTONIC, as the next: by then all have asked */
	uint64_t start_ns; /* by then all have begun; 0: with steps, which may take any time */
	uint64_t deaf_until_ns, give_up_ns; /* when nobody asks; when not all write */
	bool is_interrupted;
	VEC(struct torch_part) parts;
};

/* Whether the job can be asked, and the folder and the socket for it. torch_job_done accepts a failed one. */
int torch_job_begin(struct torch_job *j, const struct torch_wish *wish, struct err *e);
/* Until all that were told have written or ended, or SIGINT, SIGTERM or SIGHUP came. ERR_NOT_PREPARED when nobody asked; with `parts`, of which
 * not all may have written, when it was too long. */
int torch_job_wait(struct torch_job *j, struct err *e);
/* The trace of a part that has written it, into a file of ours. */
int torch_job_copy(struct torch_job *j, const struct torch_part *p, int to, struct err *e);
/* Removes the folder with what is left in it. */
void torch_job_done(struct torch_job *j);

#endif
