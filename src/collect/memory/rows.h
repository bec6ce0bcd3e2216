/* SPDX-License-Identifier: MIT
 *
 * What one process's preloaded library tells, as rows of a recording: stacks, threads, `memory` and `memory_total`. Holds a bounded amount,
 * however many threads the program has. */
#ifndef COLLECT_MEMORY_ROWS_H
#define COLLECT_MEMORY_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/memory/codes.h"
#include "collect/memory/records.h"
#include "wire/py_layout.h"

struct py_codes;
struct session_process;
struct sources;
struct writer;

/* A thread, with the rows of the stack before: they are used again as far as the next one is the same. */
struct memory_thread {
	int32_t tid;
	uint32_t row, segment;
	size_t n_last;
	struct memory_frame last[MEMORY_FRAMES_MOST]; /* root first */
	uint32_t rows[MEMORY_FRAMES_MOST];
};

struct memory_totals {
	uint64_t allocated_bytes, n_allocated, n_sampled, n_dropped, n_frees_dropped;
};

struct memory_rows {
	struct writer *writer; /* borrowed, as the next two */
	const struct session_process *process;
	memory_read_fn *read;
	struct py_layout layout; /* major 0: not known */
	char interpreter[64];
	struct memory_codes memory;
	struct mem mem;
	struct py_codes *codes; /* owned; NULL: no layout */
	struct map threads;     /* tid → index */
	VEC(struct memory_thread *) all;
	uint32_t row, segment;
	struct memory_totals told;
	bool has_told;
	uint64_t period_bytes;
	uint64_t n_nonsense; /* records that were not believed */
	uint64_t n_samples, n_releases;
};

/* layout may be NULL. r stays where it is. */
void memory_rows_init(struct memory_rows *r, struct writer *w, const struct session_process *p,
	memory_read_fn *read, const struct py_layout *layout, uint64_t period_bytes);
void memory_rows_done(struct memory_rows *r);
/* Source files are told to `sources` from now on. */
void memory_rows_sources(struct memory_rows *r, struct sources *sources, unsigned process);

/* A record of its rings, which may be anything. */
void memory_rows_add(struct memory_rows *r, uint16_t kind, const void *data, size_t n_bytes);
/* The sums of its counters, where they have grown; is_last: in any case. */
void memory_rows_total(struct memory_rows *r, uint64_t now_ns, bool is_last);
/* What was lost, once at its end. */
void memory_rows_loss(struct memory_rows *r, uint64_t now_ns);

#endif
