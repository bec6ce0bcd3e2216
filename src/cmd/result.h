/* SPDX-License-Identifier: MIT
 *
 * What `run`, `time` and `report` share: a recording read back, its analyses, and the pages of them. */
#ifndef CMD_RESULT_H
#define CMD_RESULT_H

#include <stdbool.h>

#include "analyze/bound.h"
#include "analyze/fidelity.h"
#include "analyze/profile.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "cmd/command.h"

struct buf;
struct err;

struct result {
	struct arena arena;
	struct reader *reader;
	struct tables *tables;
	const struct usage *usage;
	struct bound bound;
	const struct stacks *stacks;
	const struct profile *profile; /* NULL without samples */
	struct fidelity fidelity;
};

struct result_page {
	struct output output;
	bool host;      /* all host figures, as `time` shows them */
	bool processes; /* one line per process */
	bool functions, lines, threads;
	bool legend;
	size_t limit;
};

/* From a file, or from a descriptor that becomes the result's. result_done accepts a failed one. */
int result_open(struct result *r, const char *path, const struct stacks_options *o, struct err *e);
int result_open_fd(struct result *r, int fd, const struct stacks_options *o, struct err *e);
void result_done(struct result *r);

void result_print(const struct result *r, const struct result_page *page, struct buf *out);
void result_json(const struct result *r, struct buf *out);

#endif
