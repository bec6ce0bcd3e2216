/* SPDX-License-Identifier: MIT
 *
 * A dynolog that runs on this machine and answers its jobs of PyTorch already (collect/torch/kineto.h): it hands them the trace's configuration
 * when they next ask. It is asked over TCP, one question per connection:
 *
 *	message    i32 bytes of JSON, in the machine's byte order; JSON
 *	question   {"fn": "setKinetOnDemandRequest", "config": text, "job_id": of Slurm or 0, "pids": [those, or with these ancestors],
 *	            "process_limit": at most so many}
 *	answer     {"processesMatched": [pid, …], "activityProfilersTriggered": [pid, …], "activityProfilersBusy": how many, …}
 *
 * Processes are named by the numbers they see themselves. */
#ifndef COLLECT_TORCH_DYNOLOG_H
#define COLLECT_TORCH_DYNOLOG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct buf;
struct err;

enum { DYNOLOG_PORT = 1778, DYNOLOG_PROCESSES = 4096 };

struct dynolog_wish {
	const struct buf *config;
	int64_t job; /* of Slurm; 0: none */
	const pid_t *pids;
	size_t n_pids;
};

struct dynolog_answer {
	VEC(pid_t) told; /* who will hear of it */
	size_t n_known;  /* of those asked for */
};

/* The question's JSON, without its length. */
void dynolog_question(struct buf *out, const struct dynolog_wish *w);
/* ERR_BAD_FILE where it is no answer to it. */
int dynolog_parse(const void *data, size_t n, struct dynolog_answer *ret, struct err *e);

/* Asks the one on this machine, within 10 s. dynolog_done accepts a failed one. */
int dynolog_ask(const struct dynolog_wish *w, struct dynolog_answer *ret, struct err *e);
void dynolog_done(struct dynolog_answer *a);

#endif
