/* SPDX-License-Identifier: MIT
 *
 * What `run`, `time` and `report` share: a recording read back, its analyses, and the pages of them. */
#ifndef CMD_RESULT_H
#define CMD_RESULT_H

#include <stdbool.h>

#include "analyze/recording.h"
#include "base/arena.h"
#include "cmd/command.h"

struct buf;
struct calltree_node;
struct disassembly;
struct err;
struct json_writer;
struct neighbours;
struct tasks;
struct source_texts;

/* What is asked of a recording. Texts are borrowed; NULL: not asked. */
struct result_choice {
	struct choice of;
	const char *filter;            /* pattern of rows */
	const char *callers, *callees; /* of which functions */
	const char *bytecode;          /* of which function */
	const char *sort;              /* a key of rows (selection.h); NULL: the usual one */
	bool tree, tasks, source;      /* wanted */
	bool line_profiler;            /* exact lines must be there */
};

struct result_neighbours {
	const struct neighbours *const *v; /* one per function that matched */
	size_t n;
};

struct result {
	struct arena arena;
	const char *name; /* of the file, as it was asked for */
	/* what is missing of it, as damage_describe has it; "" when it is whole */
	const char *damage;
	struct recording *recording; /* owned, unless … */
	bool is_again;               /* … it is another result's */
	struct selection *selection;
	const struct profile *profile; /* rows as chosen; NULL: nothing was sampled or counted */
	struct row_order order;
	const struct source_texts *texts; /* NULL unless source was wanted */
	const struct calltree_node *tree; /* NULL unless wanted */
	const struct tasks *tasks;        /* NULL unless wanted */
	struct result_neighbours callers, callees;
	const struct disassembly *bytecode; /* NULL unless wanted */
	size_t n_bytecode;
};

struct result_page {
	struct output output;
	bool host;      /* all host figures, as `time` shows them */
	bool processes; /* one line per process */
	bool functions, lines, threads, tree, regions, arguments;
	bool each_task; /* tasks one by one, not by coroutine */
	bool stack;     /* the value stack beside bytecode */
	bool source; /* lines where they stand, as far as the text is there; else a table of them */
	bool idle;   /* list idle threads one by one */
	bool imports;       /* the tree of modules that import one another */
	bool ci;            /* intervals of self and total */
	bool raw;           /* traced times with what tracing cost */
	bool line_profiler; /* nothing but exact lines, as that tool prints them */
	bool legend;
	size_t limit;
	size_t tree_limit; /* rows of the tree; 0: all */
	const char *what;  /* which samples are shown, in words; NULL or "" for all */
};

/* From a file, from a descriptor that becomes the result's, or of a recording that is open and becomes its own; also of one that
 * could not be chosen from. What is missing from it is told on stderr; what matches nothing is ERR_USAGE. result_done accepts a
 * failed one. */
int result_open(struct result *r, const char *path, const struct result_choice *c, struct err *e);
int result_open_fd(struct result *r, int fd, const struct result_choice *c, struct err *e);
int result_of(struct result *r, struct recording *recording, const struct result_choice *c,
	struct err *e);
/* Another choice of the same recording, which stays the first one's. */
int result_again(
	struct result *r, const struct result *first, const struct result_choice *c, struct err *e);
void result_done(struct result *r);

void result_print(const struct result *r, const struct result_page *page, struct buf *out);
/* Of a choice of memory: its tables and trees alone. */
void result_print_memory(const struct result *r, const struct result_page *page, struct buf *out);
/* Of the same: what the page asks for beside functions and lines. */
void result_json_memory(
	const struct result *r, const struct result_page *page, struct json_writer *w);
/* As pprof -text does; state: which samples count, in pprof's place of the type. */
void result_print_pprof(
	const struct result *r, bool with_lines, size_t limit, const char *state, struct buf *out);
/* Functions and lines are always there; further sections as the page asks (NULL: none). */
void result_json(const struct result *r, struct buf *out);
void result_json_page(const struct result *r, const struct result_page *page, struct buf *out);

#endif
