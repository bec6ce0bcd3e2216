/* SPDX-License-Identifier: MIT
 *
 * The recordings that are open, and what was made of them for the selections last asked for. A selection is what the
 * parameters from, to, thread, process, state, only_mine, idle, focus, drop, merge, collapse (and, for trees, filter)
 * say; the same numbers as `leadline report` shows for the like options come of it, because the same analyses make them.
 *
 *	struct library l = LIBRARY_INIT;
 *	library_open(&l, "x.lead", &e);
 *	library_select(&l, params, LIBRARY_ROWS, &selection, &e);
 *	library_done(&l);
 */
#ifndef SERVE_LIBRARY_H
#define SERVE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/bound.h"
#include "analyze/fidelity.h"
#include "analyze/flametree.h"
#include "analyze/origin.h"
#include "base/arena.h"
#include "base/vec.h"
#include "formats/results.h"
#include "store/damage.h"

struct blocks;
struct by_place;
struct comparison;
struct err;
struct files;
struct op_ranks;
struct params;
struct recording;
struct shape;
struct turned;
struct torch;

/* Everything lives until another selection takes its place: use it for one answer. */
struct selection {
	struct recording *recording;
	char *key; /* what was asked, as text; owned */
	uint64_t last_used;
	struct arena arena;
	struct shape *shape;
	const struct stacks *stacks;
	const struct exact *exact; /* NULL: not counted call by call, or the shape needs stacks */
	const struct exact_lines *exact_lines;
	const struct profile *profile;   /* NULL: nothing was sampled or counted */
	const struct by_place *by_place; /* its functions (answer_parts.h); NULL until asked for */
	const struct probes *probes;     /* NULL likewise */
	struct blocks *blocks;           /* of LIBRARY_BLOCKS; owned; else NULL */
	const struct flametree *tree;    /* NULL until asked for */
	struct turned *inverted;         /* likewise; owned */
	const struct flametree *time_tree; /* likewise */
	size_t time_thread;                /* whose it is, of traced calls */
};

enum { LIBRARY_SELECTIONS = 6 };

/* A file that is open. Of some only the operators of torch can be shown (large traces, damaged ones, recordings damaged
 * where they tell of the run): `usage` is NULL then, and so is what follows it; of traces the reader and the tables, too. */
struct recording {
	struct arena arena;
	const char *path, *name;
	struct torch *torch; /* NULL: it holds no operators */
	struct reader *reader;
	struct tables *tables;
	const struct usage *usage;
	struct frames *frames; /* of all selections: function numbers stay */
	size_t n_places;       /* of all its stacks: how large it is */
	struct bound bound;
	struct fidelity fidelity;
	struct origin origin;
	const struct regions *regions;
	const struct texts *texts;   /* NULL until asked for */
	struct files *files;         /* likewise (files.h); owned */
	const struct strips *strips; /* NULL until asked for */
	struct selection *selections[LIBRARY_SELECTIONS];
	char damage[DAMAGE_TEXT]; /* of recording_damage */
};

struct library {
	VEC(struct recording *) recordings;
	VEC(struct results) results; /* of benchmarks; what they point to lives in the arena */
	struct arena arena;
	const char *
		editor; /* address of a line in the user's editor, with {file} and {line} in it; NULL: none */
	struct op_ranks *ranks;        /* of the traces that are open (answer_ranks.c), or NULL */
	struct comparison *comparison; /* the one last asked for (answer_diff.c), or NULL */
	uint64_t n_asked;
};

#define LIBRARY_INIT ((struct library){ 0 })

/* Opens a recording, or another tool's file, and adds it: to the recordings, or to the results of benchmarks. */
int library_open(struct library *l, const char *path, struct err *e);
void library_done(struct library *l);

/* The recording that "r" names, ERR_NO_FILE when there is none. */
int library_find(
	const struct library *l, const struct params *p, struct recording **ret, struct err *e);

enum library_filter {
	LIBRARY_ROWS,   /* filter chooses rows: not part of the selection */
	LIBRARY_BLOCKS, /* likewise; with blocks of time, to compare it with another recording */
	LIBRARY_STACKS, /* it chooses stacks */
	LIBRARY_WHOLE_TIME, /* likewise; from and to are not part of the selection: the answer has its window */
};

/* ERR_USAGE: a parameter is wrong; ERR_UNSUPPORTED: this recording cannot say that. */
int library_select(struct library *l, struct params *p, enum library_filter filter,
	struct selection **ret, struct err *e);

/* Made when first asked for. */
const struct flametree *selection_tree(struct selection *s);
struct turned *selection_inverted(struct selection *s);
/* Of the busiest of its threads; *ret_number as the list of threads has it. NULL: nothing has an order of time in
 * it. */
const struct flametree *selection_time_tree(struct selection *s, size_t *ret_number);
double selection_lost_share(const struct selection *s);
/* What is missing of the file, in one line, as far as it is known by now; "": it is whole. */
const char *recording_damage(struct recording *r);
/* Why something is not in it: `usual`, unless it may have been in what is lost. "" stays "". */
const char *recording_why(struct recording *r, const char *usual);
const struct texts *recording_texts(struct recording *r);
const struct strips *recording_strips(struct recording *r);

#endif
