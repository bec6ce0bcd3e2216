/* SPDX-License-Identifier: MIT
 * What the answers share. */
#ifndef SERVE_ANSWERS_PARTS_H
#define SERVE_ANSWERS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_write.h"
#include "base/vec.h"

struct err;
struct exact_lines;
struct frames;
struct library;
struct params;
struct pattern;
struct profile;
struct selection;

/* An answer being written: `w` is inside an object. */
typedef int answer_fn(struct library *l, struct params *p, struct json_writer *w, struct err *e);

answer_fn answer_overview, answer_tree, answer_sandwich, answer_table, answer_search, answer_files,
	answer_source, answer_bytecode, answer_timeline, answer_graph, answer_diff, answer_difftree,
	answer_bench, answer_ops_diff, answer_ranks, answer_spread, answer_torch;

struct comparison;
void comparison_free(struct comparison *c); /* NULL is fine */
struct op_ranks;
void ranks_free(struct op_ranks *r); /* likewise */
/* The same request of the recording that "with" names, 1 where it names none. */
void params_of_other(const struct params *p, struct params *ret);
/* Two so large that it takes a while. */
bool comparison_is_large(const struct library *l, const struct params *p);

/* A selection that was sampled or counted; ERR_UNSUPPORTED otherwise. */
int answer_profile(struct library *l, struct params *p, struct selection **ret, struct err *e);
/* The same with stacks, for trees: filter chooses stacks. */
int answer_stacks(struct library *l, struct params *p, struct selection **ret, struct err *e);
/* The parameter "function"; ERR_NO_FILE when the recording has none of that number. */
int answer_function(
	const struct selection *s, const struct params *p, uint32_t *ret, struct err *e);

/* "unit" and "total" of its profile. */
void answer_total(const struct selection *s, struct json_writer *w);

/* Functions an answer mentions, each once; answer_functions writes the key "functions". */
struct mentioned {
	VEC(uint32_t) functions;
	VEC(bool) is_in; /* by function */
};

void mention(struct mentioned *m, uint32_t function);
/* Ends it, too. */
void answer_functions(struct mentioned *m, const struct frames *f, struct json_writer *w);
/* Lines counted one by one: their number, and a table as "sort" and a pattern (NULL: all) have it. */
size_t answer_n_counted(const struct exact_lines *l);
int answer_counted_table(const struct exact_lines *l, const struct params *p,
	const struct pattern *pattern, size_t first, size_t n, struct json_writer *w,
	struct err *e);
/* How many lines there are, counted or sampled. */
size_t answer_n_lines(const struct selection *s, const struct profile *p);

#endif
