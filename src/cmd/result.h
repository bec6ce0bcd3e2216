/* SPDX-License-Identifier: MIT
 *
 * What `run`, `time` and `report` share: a recording read back, its analyses, and the pages of them. */
#ifndef CMD_RESULT_H
#define CMD_RESULT_H

#include <stdbool.h>

#include "analyze/bound.h"
#include "analyze/fidelity.h"
#include "analyze/origin.h"
#include "analyze/profile.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "cmd/command.h"

struct arguments;
struct buf;
struct calltree_node;
struct ending;
struct err;
struct exact;
struct exact_lines;
struct neighbours;
struct reader;
struct opcode_counts;
struct regions;
struct training;
struct tables;
struct tasks;
struct texts;

/* What is asked of a recording. Texts are borrowed; NULL: not asked. */
struct result_choice {
	struct stacks_options stacks; /* its threads are filled from `threads` */
	const char *threads;          /* tid, #number or name (with * and ?), separated by commas */
	const char *filter;           /* pattern of rows */
	const char *callers, *callees; /* of which functions */
	const char *bytecode;          /* of which function */
	const char *sort;              /* one of our keys or of pstats'; NULL: self time */
	bool tree, tasks, source;      /* wanted */
	bool line_profiler;            /* exact lines must be there */
};

struct result_neighbours {
	const struct neighbours *const *v; /* one per function that matched */
	size_t n;
};

struct result {
	struct arena arena;
	const char *name; /* of the file */
	const char
		*damage; /* what is missing of it, as damage_describe has it; "" when it is whole */
	struct reader *reader;
	struct tables *tables;
	const struct usage *usage;
	struct bound bound;
	const struct stacks *stacks;
	const struct probes *probes;   /* NULL without samples */
	const struct profile *profile; /* rows as chosen; NULL without samples */
	struct fidelity fidelity;
	struct origin origin;
	/* Counted one by one; the profile then has the same functions. NULL without such calls, or lines. */
	const struct exact *exact;
	const struct exact_lines *exact_lines;
	const struct opcode_counts *opcodes; /* instructions likewise */
	const struct arguments *arguments;   /* functions were called with */
	enum profile_order order;
	const char *order_words;          /* what that is called */
	const struct texts *texts;        /* NULL unless source was wanted */
	const struct calltree_node *tree; /* NULL unless wanted */
	const struct tasks *tasks;        /* NULL unless wanted */
	const struct regions *regions;    /* the program has named */
	const struct training *training;  /* NULL: it told no steps */
	struct result_neighbours callers, callees;
	const struct disassembly *bytecode; /* NULL unless wanted */
	size_t n_bytecode;
	const struct ending *endings; /* processes killed by a signal */
	size_t n_endings;
};

struct result_page {
	struct output output;
	bool host;      /* all host figures, as `time` shows them */
	bool processes; /* one line per process */
	bool functions, lines, threads, tree, regions, arguments;
	bool stack;  /* the value stack beside bytecode */
	bool source; /* lines where they stand, as far as the text is there; else a table of them */
	bool idle;   /* list idle threads one by one */
	bool ci;     /* intervals of self and total */
	bool raw;    /* traced times with what tracing cost */
	bool line_profiler; /* nothing but exact lines, as that tool prints them */
	bool legend;
	size_t limit;
	size_t tree_limit; /* rows of the tree; 0: all */
	const char *what;  /* which samples are shown, in words; NULL or "" for all */
};

/* Whether --sort KEY can be had of what counts calls, or does not. */
int result_check_sort(const char *key, bool has_calls, struct err *e);

/* From a file, or from a descriptor that becomes the result's. What is missing from it is told on stderr. result_done accepts a
 * failed one. */
int result_open(struct result *r, const char *path, const struct stacks_options *o, struct err *e);
int result_open_fd(struct result *r, int fd, const struct stacks_options *o, struct err *e);
/* The same with all that can be asked; what matches nothing is ERR_USAGE. */
int result_open_choice(
	struct result *r, const char *path, const struct result_choice *c, struct err *e);
void result_done(struct result *r);

void result_print(const struct result *r, const struct result_page *page, struct buf *out);
/* As pprof -text does; state: which samples count, in pprof's place of the type. */
void result_print_pprof(const struct result *r, bool with_lines, size_t limit, const char *state,
	const char *what, struct buf *out);
/* Functions and lines are always there; further sections as the page asks (NULL: none). */
void result_json(const struct result *r, struct buf *out);
void result_json_page(const struct result *r, const struct result_page *page, struct buf *out);

#endif
