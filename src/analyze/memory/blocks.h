/* SPDX-License-Identifier: MIT
 *
 * Blocks: the sampled allocations of a recording, each with the time of its release, from `memory` records replayed in the order of
 * time. Everything that is said of memory is a sum over blocks that were alive at a moment, or came in a stretch of time:
 *
 *	struct memory_blocks *b = memory_blocks_load(tables);        NULL: there are none
 *	for (size_t i = 0; i < b->n; i++)
 *		if (memory_is_alive(b, &b->v[i], t_ns)) …
 *	memory_blocks_free(b);
 *
 * Records of several threads and processes need not be in the order of time in the file; here they are. Records are not believed: a
 * release of a block that nobody knows is counted and left out; a block where another one is alive ends that one, whose release was
 * lost; a weight that cannot be one is 1. While they are read, about 100 bytes per record are held, which the reader's budget covers. */
#ifndef ANALYZE_MEMORY_BLOCKS_H
#define ANALYZE_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tables;

struct memory_block {
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;   /* of its release; UINT64_MAX: there was none */
	uint64_t size_bytes;
	double weight; /* allocations that it stands for, 1 or more */
	uint32_t site; /* index */
};

struct memory_site {            /* who allocated where */
	uint32_t thread, stack; /* rows */
	uint32_t process;       /* index in processes */
};

/* What the hooks of a process counted (`memory_total`); has_total false: nothing is known of it. */
struct memory_process {
	uint32_t row, pid;
	const char *command; /* of the tables */
	uint64_t end_ns;     /* when it ended; UINT64_MAX: it was alive when the recording ended */
	/* The last moment at which Python code of it was seen, allocating or by the sampler: what an interpreter releases while it ends was
	 * there to the end, as far as the program goes. UINT64_MAX - 1: it was never seen. */
	uint64_t done_ns;
	bool has_total;
	uint64_t allocated_bytes, n_allocated; /* n: RECORD_UNKNOWN where only bytes were counted */
	uint64_t n_sampled, n_dropped, n_frees_dropped, period_bytes;
};

struct memory_blocks {
	struct memory_block *v; /* in the order of time */
	size_t n;
	struct memory_site *sites;
	size_t n_sites;
	struct memory_process *processes; /* in order of appearance */
	size_t n_processes;
	uint64_t zero_ns;            /* where the recording's time begins */
	uint64_t first_ns, last_ns;  /* of the first and the last record of memory */
	uint64_t n_unknown_releases; /* of blocks that nobody knows */
	uint64_t n_lost_releases;    /* blocks that were replaced by others at their address */
};

/* All owned by what is returned. */
struct memory_blocks *memory_blocks_load(struct tables *t);
void memory_blocks_free(struct memory_blocks *b); /* NULL is fine */

/* When it was gone: released, or its process had ended. Never before it began. */
uint64_t memory_block_gone(const struct memory_blocks *b, const struct memory_block *x);
/* Whether the program had not released it when its own code ended. */
bool memory_is_left(const struct memory_blocks *b, const struct memory_block *x);
bool memory_is_alive(const struct memory_blocks *b, const struct memory_block *x, uint64_t t_ns);

#endif
