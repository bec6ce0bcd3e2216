/* SPDX-License-Identifier: MIT
 *
 * The traces of a distributed job side by side, one of each rank: what their time went to, how long they waited for each other
 * and for whom.
 *
 * Moments within the steps of a rank are of four kinds: it computed (kernels and copies; without a device operators, computing.h), it
 * communicated, both, or neither. A collective takes each of its ranks from when that one is there until the last one is, and then
 * for the transfer; so the shortest of the ranks' times of the same collective is taken for the transfer, and what is beyond it on
 * the others for waiting. No clock of one rank is compared with another's. The rank of the shortest time is the one the
 * others waited for.
 *
 *	struct op_ranks r = { .a = &arena };
 *	for each: op_ranks_add(&r, path, &events, &e);         events read with keeps_all; not needed afterwards
 *	op_ranks_compare(&r, &e);
 *	op_ranks_done(&r); */
#ifndef ANALYZE_TORCH_RANKS_H
#define ANALYZE_TORCH_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct arena;
struct err;
struct op_events;

struct op_rank {
	const char *path;
	int64_t rank; /* in the job; else the number in the file's name, or its place among the files */
	size_t n_steps;
	double seconds;                  /* of its steps */
	double computation_s, overlap_s; /* it computed alone, and while it communicated */
	double communication_s, other_s; /* it communicated alone; neither */
	uint64_t n_collectives;          /* found in all its ranks */
	double transfer_s, waiting_s;    /* of those */
	uint32_t file;                   /* as of the calls */
	uint64_t n_last;                 /* of those, the others waited for this rank */
	double caused_s;                 /* how long, all of them together */
};

struct op_collective {            /* all of one kind in one group */
	const char *name, *group; /* "all_reduce"; "" where the trace does not say */
	uint64_t n_ranks;
	bool is_numbered;             /* the trace tells which is which; else they are counted */
	uint64_t calls;               /* of all ranks */
	uint64_t n_matched;           /* collectives found in all their ranks */
	double bytes;                 /* a rank's input of all calls; 0: not known */
	double seconds;               /* of all calls */
	double transfer_s, waiting_s; /* of those matched, all ranks added up */
	uint64_t *n_of_rank; /* calls, by the order of files; NULL before ranks are compared */
};

struct op_ranks_call {   /* of a collective by one rank */
	uint32_t kind;   /* in collectives, as long as ranks are added */
	uint32_t file;   /* which of the ranks, in the order they were added */
	int64_t number;  /* the same on all ranks; the trace's own, -1: not known */
	int64_t ordinal; /* of its kind in this rank */
	int64_t duration_ns;
};

struct op_ranks {
	struct arena *a;                       /* what lives as long as this; borrowed */
	VEC(struct op_rank) v;                 /* by rank */
	unsigned world_size;                   /* 0: not known */
	const char *backend;                   /* "": not known */
	VEC(struct op_collective) collectives; /* those that took longest first */
	const struct op_rank *straggler;       /* NULL: none stands out */
	VEC(const char *) notes;               /* what does not match, a line each */
	VEC(struct op_ranks_call) calls;       /* of all ranks */
};

/* The processes of a recording that holds several ranks are added one by one. ERR_USAGE where it cannot be of the same job: a rank that is there already, another number of ranks. */
int op_ranks_add(struct op_ranks *r, const char *path, struct op_events *x, struct err *e);
/* After the last one. ERR_USAGE for fewer than two. */
int op_ranks_compare(struct op_ranks *r, struct err *e);
void op_ranks_done(struct op_ranks *r);

#endif
