/* SPDX-License-Identifier: MIT
 *
 * Selection: what of a recording is meant (a choice), and what was made of that so far. Which threads, which time, which samples
 * count, and what a recording cannot say is decided here for everyone: tables, exports, the page. */
#ifndef ANALYZE_SELECTION_H
#define ANALYZE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/profile.h"
#include "analyze/shape.h"
#include "analyze/stacks.h"
#include "base/arena.h"

struct arguments;
struct blocks;
struct buf;
struct ending;
struct err;
struct exact;
struct exact_lines;
struct flametree;
struct opcode_counts;
struct probes;
struct recording;
struct tasks;
struct turned;

/* ---- what is meant --------------------------------------------------------------------------- */

/* {0}: the whole recording, without threads that only wait for work. Texts are borrowed; NULL: not asked. */
struct choice {
	enum stacks_state state;
	double from_s, to_s;   /* since the recording began; to_s 0: to the end */
	const char *threads;   /* tid, #number or name (with * and ?), separated by commas */
	const char *processes; /* pids, likewise */
	bool only_mine;        /* the library's frames are left out */
	/* Threads that only wait for work count, too: as they do for who asks for threads, or for what waits. */
	bool idle;
	struct shape_options
		shape; /* its `keep` is a filter of stacks; one of rows is no part of a choice */
	bool by_time;  /* with blocks, which comparisons need */
};

/* wall, cpu, gil, wait, in the order of enum stacks_state; NULL ends them. */
extern const char *const choice_states[];

/* "on a CPU, only mine, 1 s to 2 s": what the numbers are of; "" for all. */
void choice_describe(const struct choice *c, struct buf *to);

/* A key that rows are sorted by: ours, or pstats'. */
struct row_order {
	enum profile_order order;
	const char *words; /* "cumulative time" */
};

/* option: how it is called in errors, as "--sort". key NULL: the usual one. ERR_USAGE: there is none of that name; ERR_UNSUPPORTED: it needs counted calls. */
int row_order_parse(
	const char *option, const char *key, bool has_calls, struct row_order *ret, struct err *e);

/* ---- what was chosen of it ------------------------------------------------------------------- */

/* Lives until so many others were asked for, or the recording ends: use it for one answer. Fields from `tree` on are NULL until
 * asked for by the functions below. */
struct selection {
	struct recording *recording;
	struct arena arena;
	struct stacks_options options; /* as the stacks were built */
	struct shape *shape;
	const char *what; /* choice_describe */
	const struct stacks *stacks;
	const struct exact *exact; /* NULL: not counted call by call, or the shape needs stacks */
	const struct exact_lines *exact_lines; /* NULL: not counted line by line */
	const struct profile *profile;         /* NULL: nothing was sampled or counted */
	const struct probes *probes;           /* NULL likewise */
	struct blocks *blocks;                 /* NULL unless by_time */
	const struct flametree *tree;
	struct turned *inverted;
	const struct flametree *time_tree;
	size_t time_thread;
	const struct opcode_counts *opcodes;
	bool has_opcodes; /* they were looked for */
	const struct arguments *arguments;
	const struct tasks *tasks;
	const struct ending *endings;
	size_t n_endings;
	char *key;
	uint64_t last_used;
};

/* ERR_USAGE: the choice is wrong, or matches nothing; ERR_UNSUPPORTED: this recording cannot say that. */
int recording_select(
	struct recording *r, const struct choice *c, struct selection **ret, struct err *e);

double selection_lost_share(const struct selection *s);
const struct flametree *selection_tree(struct selection *s);
struct turned *selection_inverted(struct selection *s);
/* Of the busiest of its threads; *ret_number as the list of threads has it. NULL: nothing has an order of time in it. */
const struct flametree *selection_time_tree(struct selection *s, size_t *ret_number);
/* NULL: instructions were not counted. */
const struct opcode_counts *selection_opcodes(struct selection *s);
const struct arguments *selection_arguments(struct selection *s);
const struct tasks *selection_tasks(struct selection *s);
/* Of processes that a signal killed. */
const struct ending *selection_endings(struct selection *s, size_t *ret_n);
/* The same choice, counting only what was on a CPU. */
const struct stacks *selection_stacks_on_cpu(struct selection *s);
/* "on a CPU; left out: 2 idle threads and waits for work, 40 % of all samples", for files that are made of it; "" for all. */
void selection_describe(const struct selection *s, struct buf *to);
/* The same stacks for what writes each whole: all together have no more frames than this (stacks.h). */
const struct stacks *selection_stacks_within(struct selection *s, size_t frames_most);

void selection_free(struct selection *s); /* for the recording; NULL is fine */

#endif
