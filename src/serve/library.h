/* SPDX-License-Identifier: MIT
 *
 * The recordings that are open. A selection (analyze/selection.h) is what the parameters from, to, thread, process, state, memory,
 * only_mine, idle, focus, drop, merge, collapse (and, for trees, filter) say.
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

#include "analyze/recording.h"
#include "base/arena.h"
#include "base/vec.h"
#include "formats/results.h"

struct comparison;
struct err;
struct op_ranks;
struct params;

struct library {
	VEC(struct recording *) recordings;
	VEC(struct results) results; /* of benchmarks; what they point to lives in the arena */
	struct arena arena;
	/* address of a line in the user's editor, with {file} and {line} in it; NULL: none */
	const char *editor;
	struct op_ranks *ranks;        /* of the traces that are open (answer_ranks.c), or NULL */
	struct comparison *comparison; /* the one last asked for (answer_diff.c), or NULL */
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

#endif
