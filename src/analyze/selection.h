/* SPDX-License-Identifier: MIT
 *
 * Selection: what of a recording is meant (a choice), and what was made of that so far. Which threads, which time, which samples
 * count, and what a recording cannot say is decided here for everyone: tables, exports, the page. */
#ifndef ANALYZE_SELECTION_H
#define ANALYZE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/memory/memory.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stack_filter.h"
#include "analyze/samples/stacks.h"
#include "analyze/samples/thread_states.h"
#include "base/arena.h"

struct arguments;
struct time_blocks;
struct buf;
struct crash_stacks;
struct err;
struct exact;
struct exact_lines;
struct flametree;
struct opcode_counts;
struct probes;
struct recording;
struct tasks;
struct inverted_tree;

/* ---- what is meant --------------------------------------------------------------------------- */

/* {0}: the whole recording, without threads that only wait for work, imports in one row. Texts are borrowed; NULL: not asked. */
struct choice {
	enum stacks_state state;
	double from_s, to_s;   /* since the recording began; to_s 0: to the end */
	const char *phase;     /* of a training (phases.h): "training" … */
	const char *threads;   /* tid, #number or name (with * and ?), separated by commas */
	const char *processes; /* pids, likewise */
	bool only_mine;        /* the library's frames are left out */
	/* Threads that only wait for work count, too: as they do for who asks for threads, or for what waits. */
	bool idle;
	bool imports; /* frame by frame, and not in one row (imports.h) */
	/* its `keep` is a filter of stacks; one of rows is no part of a choice */
	struct stack_filter_options shape;
	bool by_time; /* with blocks, which comparisons need */
	/* Bytes instead of time. Of from_s and to_s it is said in memory.h what they mean; states, phases and idle threads mean nothing. */
	enum memory_view memory;
};

/* wall, cpu, gil, wait, runnable, in the order of enum stacks_state; NULL ends them. */
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
	struct stack_filter *shape;
	const char *what;                 /* choice_describe */
	const struct memory_part *memory; /* what the stacks are of; NULL: time */
	const struct stacks *stacks;
	const struct exact *exact; /* NULL: not counted call by call, or the shape needs stacks */
	const struct exact_lines *exact_lines; /* NULL: not counted line by line */
	const struct profile *profile;         /* NULL: nothing was sampled or counted */
	const struct probes *probes;           /* NULL likewise */
	struct time_blocks *blocks;            /* NULL unless by_time */
	const struct flametree *tree;
	struct inverted_tree *inverted;
	const struct flametree *time_tree;
	size_t time_thread;
	const struct opcode_counts *opcodes;
	bool has_opcodes; /* they were looked for */
	const struct arguments *arguments;
	const struct tasks *tasks;
	const struct crash_stacks *crashes;
	size_t n_crashes;
	char *key;
	uint64_t last_used;
};

/* ERR_USAGE: the choice is wrong, or matches nothing; ERR_UNSUPPORTED: this recording cannot say that. */
int recording_select(
	struct recording *r, const struct choice *c, struct selection **ret, struct err *e);

double selection_lost_share(const struct selection *s);
/* Of stacks; where the file only says who called whom, of these calls (parted_tree.h): then it is_parted. */
const struct flametree *selection_tree(struct selection *s);
bool selection_is_parted(const struct selection *s);
/* What to say of a picture of such a tree. */
#define SELECTION_PARTED                                                                    \
	"made from who called whom, not from stacks: a function's time is split among its " \
	"callers as their calls of it took; recursion has no boxes of its own"
struct inverted_tree *selection_inverted(struct selection *s);
/* Of the busiest of its threads; *ret_number as the list of threads has it. NULL: nothing has an order of time in it. */
const struct flametree *selection_time_tree(struct selection *s, size_t *ret_number);
/* NULL: instructions were not counted. */
const struct opcode_counts *selection_opcodes(struct selection *s);
const struct arguments *selection_arguments(struct selection *s);
const struct tasks *selection_tasks(struct selection *s);

/* Sampled seconds of the threads and the time chosen in each state. What was left out as idle is waiting, and no part of it. */
struct state_sums {
	bool is_known;           /* false: another tool's file, or nothing was sampled */
	double s[STRIP_STATES_]; /* running: on a CPU */
	double runnable_s;       /* ready without a CPU */
};
struct state_sums selection_states(struct selection *s);
/* Of processes that a signal killed. */
const struct crash_stacks *selection_crashes(struct selection *s, size_t *ret_n);
/* The same choice, counting only what was on a CPU. */
const struct stacks *selection_stacks_on_cpu(struct selection *s);
/* The same choice, imports alone: as modules that import one another. */
const struct stacks *selection_stacks_of_imports(struct selection *s);
/* "on a CPU; left out: 2 idle threads and waits for work, 40 % of all sampled time", for files that are made of it; "" for all. */
void selection_describe(const struct selection *s, struct buf *to);
/* The same stacks for what writes each whole: all together have no more frames than this (stacks.h). */
const struct stacks *selection_stacks_within(struct selection *s, size_t frames_most);

void selection_free(struct selection *s); /* for the recording; NULL is fine */

#endif
